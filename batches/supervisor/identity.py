"""Who a RUN_DIR belongs to: the note its supervisor left, and the lock that says it lives."""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batches.supervisor import processes
from batches.supervisor.files import create_note
from batches.supervisor.layout import PROCESS

GIVEN_UP = {"host": "", "supervisor": {"pid": 0, "start": 0}, "agent": {"pid": 0, "start": 0}}


@dataclass(frozen=True)
class Identity:
    """A pid and its start time in clock ticks since boot; 0 where the system does not tell."""

    pid: int
    start: int

    def find(self) -> processes.Process | None:
        """The very process, never another one under its recycled pid."""
        process = processes.find(self.pid)
        return process if process and process.start == self.start and process.alive else None


@dataclass(frozen=True)
class RunIdentity:
    """`host` names the boot and the pid namespace in which the two pids mean anything."""

    host: str
    supervisor: Identity
    agent: Identity

    @property
    def is_local(self) -> bool:
        return self.host == processes.host_id()


def read_identity(run_dir: Path) -> RunIdentity | None:
    """None until the supervisor has made itself known. A torn note names nobody."""
    try:
        note = json.loads((run_dir / PROCESS).read_bytes())
        return RunIdentity(note["host"], _identity(note["supervisor"]), _identity(note["agent"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):  # only a crash of the machine tears it
        return RunIdentity("", Identity(0, 0), Identity(0, 0))


def _identity(note: dict[str, Any]) -> Identity:
    return Identity(int(note["pid"]), int(note["start"]))


def supervisor_lives(run_dir: Path) -> bool:
    """By the lock that the kernel frees at its death, also in another container or off Linux.

    A fork that is not yet the agent shares the lock for a moment, so a pid known dead is dead.
    """
    return _is_locked(run_dir / PROCESS) and not _is_known_dead(read_identity(run_dir))


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _is_known_dead(identity: RunIdentity | None) -> bool:
    if identity is None or not identity.is_local or not processes.ON_LINUX:
        return False
    return identity.supervisor.find() is None


def give_up_start(run_dir: Path) -> bool:
    """Take the place of process.json, so that a late supervisor leaves; False if it was there."""
    try:
        create_note(run_dir / PROCESS, GIVEN_UP)
    except FileExistsError:
        return False
    return True
