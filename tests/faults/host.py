"""Processes of this machine, found by what they carry, without the code under test."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
POLL_S = 0.1
ON_LINUX = sys.platform == "linux"


def wait_for(condition: Callable[[], T], what: str, *, seconds: float = PATIENCE_S) -> T:
    """What the condition gives, once that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(POLL_S)
    return found


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _stat(pid: int) -> list[bytes]:
    """From the state on, field 3 of proc(5)."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def is_alive(pid: int) -> bool:
    stat = _stat(pid)
    return bool(stat) and stat[0] not in (b"Z", b"X")


def parent_of(pid: int) -> int:
    stat = _stat(pid)
    return int(stat[1]) if stat else 0


def pids() -> list[int]:
    found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in found if pid != os.getpid() and is_alive(pid)]


def children_of(*parents: int) -> list[int]:
    return [pid for pid in pids() if parent_of(pid) in parents]


def family_of(pid: int) -> list[int]:
    """It and all that descend from it."""
    found, fresh = [pid], [pid]
    while fresh := children_of(*fresh):
        found += fresh
    return found


def carrying(text: str) -> Iterator[int]:
    """Processes with the text in their arguments or environment."""
    wanted = text.encode()
    for pid in pids():
        if wanted in _read(pid, "cmdline") or wanted in _read(pid, "environ"):
            yield pid


def supervisors(state: Path) -> list[int]:
    return [pid for pid in carrying(str(state)) if b"agent_supervisor" in _read(pid, "cmdline")]


def supervised(state: Path) -> list[int]:
    """Agents and gates, with their children."""
    marker = f"CODEFRAME_RUN_DIR={state}".encode()
    return [pid for pid in carrying(str(state)) if marker in _read(pid, "environ")]


def kill(*victims: int) -> None:
    """At once, and until they are dead."""
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    wait_for(lambda: not any(map(is_alive, victims)), "a killed process is dead", seconds=10)
