"""Starts a run under a supervisor of its own, or finds one that was started before."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from batches.supervisor.files import create_note, replace_note, write_private
from batches.supervisor.handle import Handle, reap_ended
from batches.supervisor.identity import give_up_start, read_identity
from batches.supervisor.layout import EXIT, EXIT_RESERVE, EXIT_RESERVE_BYTES, LOG, MARKER, SPEC
from batches.supervisor.record import LaunchSpec

_CHILD_SIDE = Path(__file__).resolve().with_name("agent_supervisor.py")
_KEPT_ENV = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_START_WAIT_S = 3.0
_START_POLL_S = 0.01


class SupervisorStartError(Exception):
    """Says in one sentence why no supervisor could be started."""


def start(run_dir: Path, spec: LaunchSpec, *, hold_fd: int | None = None) -> Handle:
    """Returns once the supervisor is spawned. Raises SupervisorStartError.

    `hold_fd` stays open in the supervisor, and nowhere below it, until the run has ended: a lock
    on it outlives whoever started the run.
    """
    reap_ended()
    run_dir = run_dir.resolve()
    try:
        _prepare(run_dir, spec)
    except FileExistsError:
        raise SupervisorStartError(f"{run_dir} already holds a run") from None
    except OSError as error:
        raise SupervisorStartError(f"cannot prepare {run_dir}: {error.strerror}") from error
    try:
        return _spawn(run_dir, hold_fd)
    except OSError as error:
        (run_dir / SPEC).unlink()
        raise SupervisorStartError(f"cannot start a supervisor: {error}") from error


def adopt(run_dir: Path) -> Handle | None:
    """The run that was started in `run_dir`, alive, ended or lost; None if there never was one.

    May wait for a supervisor on its way, and shuts out one that has not come after three seconds.
    """
    run_dir = run_dir.resolve()
    handle = Handle(run_dir)
    if (run_dir / EXIT).exists():
        return handle
    if not (run_dir / SPEC).exists():
        return None
    handle.hold()
    deadline = time.monotonic() + _START_WAIT_S
    while read_identity(run_dir) is None and not (run_dir / EXIT).exists():
        if time.monotonic() >= deadline and give_up_start(run_dir):
            break
        time.sleep(_START_POLL_S)
    return handle


def forget_environment(run_dir: Path) -> None:
    """Of a run that has ended: the values, keys among them, are needed by nobody any more."""
    path = run_dir / SPEC
    try:
        note = json.loads(path.read_text())
    except FileNotFoundError:
        return
    replace_note(path, note | {"env": dict.fromkeys(note["env"], "")})


def _prepare(run_dir: Path, spec: LaunchSpec) -> None:
    """Raises FileExistsError: of two that start the same run, one does."""
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (run_dir / SPEC).exists():
        write_private(run_dir / EXIT_RESERVE, b" " * EXIT_RESERVE_BYTES)
    note = spec.as_json()
    note["env"][MARKER] = str(run_dir)
    create_note(run_dir / SPEC, note)


def _spawn(run_dir: Path, hold_fd: int | None) -> Handle:
    handle = Handle(run_dir)
    handle.hold()
    try:
        log = os.open(run_dir / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            handle.watch(_popen(run_dir, log, hold_fd))
        finally:
            os.close(log)
    except OSError:
        handle.let_go()
        raise
    return handle


def _popen(run_dir: Path, log: int, hold_fd: int | None) -> "subprocess.Popen[bytes]":
    # The agent can read its supervisor's environment, so that holds none of the server's secrets.
    env = {name: os.environ[name] for name in _KEPT_ENV if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", str(_CHILD_SIDE), str(run_dir)],
        stdin=subprocess.DEVNULL if hold_fd is None else hold_fd,
        stdout=log,
        stderr=log,
        cwd="/",
        env=env,
        start_new_session=True,
    )
