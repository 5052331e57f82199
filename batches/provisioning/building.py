"""A shared environment: found sealed and intact, or built once under its lock, whoever asks."""

import hashlib
import json
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from batches.engines.environment import server_path
from batches.integration.removal import remove_folder
from batches.provisioning.locks import EXCLUSIVE, SHARED, held
from batches.provisioning.programs import Program, ProgramMissing
from batches.provisioning.sealing import Seal, is_intact, read_seal, seal
from batches.provisioning.steps import OutOfTime, StepFailed, Steps
from batches.provisioning.tools import load_tool
from batches.provisioning.tools.base import Argv, Build, Need, Tool

LAYOUT = 1
"""Raised when what is built changes: nothing older is used then."""
FAILED_FOR_S = 60.0
"""Runs that wait for the same environment do not each try again what has just failed."""
TRIES = 3
_failures: dict[str, tuple[float, str]] = {}
_failures_lock = threading.Lock()


WAY_OUT = "To run without, set environment.tools: none, see docs/configuration.md."


class BuildFailed(Exception):
    """The message is for a person."""


class DiskTooFull(Exception):
    """Less is free than the operator wants to keep."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """`built` and `seconds`: by this call; the lock is held shared while it is handed out."""

    key: str
    folder: Path
    tool: Tool
    seal: Seal
    built: bool
    was_changed: bool = False


@dataclass(frozen=True, kw_only=True)
class Order:
    """An environment that is wanted; `home` is the workspace's folder of environments."""

    home: Path
    need: Need
    steps: Steps
    disk_floor: int
    probes: Sequence[Argv] = ()
    on_wait: Callable[[], None] = field(default=lambda: None)


@contextmanager
def environment(order: Order) -> Iterator[Ready]:
    """Nobody removes it while the block runs, which is the time to write down that it is used.

    Raises BuildFailed, DiskTooFull, and what the steps' `check` raises.
    """
    tool = load_tool(order.need.tool)
    try:
        programs = tool.programs(order.need, server_path())
    except ProgramMissing as error:
        raise BuildFailed(f"{order.need.tool}: {error}") from error
    key = key_of(order.need, programs, order.probes)
    order.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder, lock = order.home / key, order.home / f"{key}.lock"
    built = changed = False
    for _ in range(TRIES):
        with held(lock, SHARED, check=order.steps.check, on_wait=order.on_wait):
            known = read_seal(folder)
            if known is not None and is_intact(folder, known):
                yield Ready(
                    key=key, folder=folder, tool=tool, seal=known, built=built, was_changed=changed
                )
                return
            changed = changed or known is not None
        with held(lock, EXCLUSIVE, check=order.steps.check, on_wait=order.on_wait) as fd:
            known = read_seal(folder)
            if known is None or not is_intact(folder, known):
                _build(order, Build(folder=folder, need=order.need, programs=programs), tool, fd)
                built = True
    raise BuildFailed(f"{order.need.tool}: the environment is changed by others all the time.")


def key_of(need: Need, programs: Mapping[str, Program], probes: Sequence[Argv]) -> str:
    """Of all that decides what is built."""
    facts = {
        "layout": LAYOUT,
        "tool": need.tool,
        "programs": {name: [str(p.path), p.version] for name, p in sorted(programs.items())},
        "platform": [platform.system(), platform.machine()],
        "probes": [list(argv) for argv in probes],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in need.files.items()},
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def refuse_full_disk(folder: Path, floor: int) -> None:
    """Raises DiskTooFull."""
    free = shutil.disk_usage(folder).free
    if free < floor:
        raise DiskTooFull(
            f"{folder}: {free // 2**20} MiB are free, and {floor // 2**20} MiB are kept free."
        )


def with_way_out(error: Exception) -> str:
    """Why there is no environment, and what helps where none can be had: no index, for example."""
    return f"{str(error).rstrip('.')}. {WAY_OUT}"


def _build(order: Order, build: Build, tool: Tool, lock_fd: int) -> None:
    """What is there has no seal, or a broken one. What fails leaves nothing."""
    _refuse_known_failure(build)
    refuse_full_disk(order.home, order.disk_floor)
    remove_folder(build.folder)
    began = time.monotonic()
    try:
        _make(order, build, tool, lock_fd)
        versions = {name: program.version for name, program in build.programs.items()}
        seconds = round(time.monotonic() - began, 3)
        seal(build.folder, tool=tool.name, versions=versions, seconds=seconds)
    except (StepFailed, _Unsound) as error:
        sentence = f"{tool.name}: {error}"
        if not isinstance(error, OutOfTime):
            _remember_failure(build, sentence)
        raise BuildFailed(sentence) from error
    finally:
        if read_seal(build.folder) is None:
            remove_folder(build.folder)


class _Unsound(Exception):
    """What was built is not what was asked for."""


def _make(order: Order, build: Build, tool: Tool, lock_fd: int) -> None:
    for name, content in build.need.files.items():
        path = build.source / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(content)
    build.source.mkdir(mode=0o700, parents=True, exist_ok=True)
    surroundings = tool.surroundings(build.folder, build.source)
    making = order.steps.environment(extra=tool.variables(build))
    probing = order.steps.environment(surroundings, tool.variables(build))
    for argv in tool.commands(build):
        _run(order, argv, build, making, lock_fd)
    if problem := tool.problem(build):
        raise _Unsound(problem)
    for argv in (*tool.probe(build), *order.probes):
        _run(order, argv, build, probing, lock_fd)


def _run(order: Order, argv: Argv, build: Build, env: Mapping[str, str], lock_fd: int) -> None:
    order.steps.run(
        argv,
        cwd=build.source,
        env=env,
        timeout_s=order.steps.deadline_s,
        shown=shown(argv),
        hold_fd=lock_fd,
    )


def shown(argv: Sequence[str]) -> str:
    """A command for a person; a script in it is cut to its first words."""
    words = (" ".join(word.split())[:60] + ("…" if len(word) > 200 else "") for word in argv)
    return " ".join(words)


def _refuse_known_failure(build: Build) -> None:
    with _failures_lock:
        at, sentence = _failures.get(str(build.folder), (0.0, ""))
    if sentence and time.monotonic() - at < FAILED_FOR_S:
        raise BuildFailed(sentence)


def _remember_failure(build: Build, sentence: str) -> None:
    with _failures_lock:
        _failures[str(build.folder)] = (time.monotonic(), sentence)
