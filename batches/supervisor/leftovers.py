"""Kills what a dead supervisor left behind, and nothing else."""

import os
from dataclasses import dataclass
from pathlib import Path

from batches.supervisor.identity import RunIdentity, read_identity, supervisor_lives
from batches.supervisor.layout import MARKER
from batches.supervisor.processes import Process, living, read_file, with_descendants
from batches.supervisor.record import Victim, victims
from batches.supervisor.sweep import sweep

_ENVIRON_BYTES = 4 * 1024 * 1024


class SupervisorAliveError(Exception):
    """What a living supervisor started is not left over: ask it to stop."""


@dataclass(frozen=True)
class Leftovers:
    killed: tuple[Victim, ...]
    survivors: tuple[Victim, ...]


def kill_leftovers(run_dir: Path) -> Leftovers:
    """Kill the run's processes and wait until none is left. Raises SupervisorAliveError.

    Ours is what carries the run's marker or is in its living agent's session, and what descends
    from those. Off Linux nobody can be told apart, so nobody is killed.
    """
    run_dir = run_dir.resolve()
    if supervisor_lives(run_dir):
        raise SupervisorAliveError(f"the supervisor of {run_dir} is alive")
    marker = f"{MARKER}=".encode() + os.fsencode(run_dir)
    identity = read_identity(run_dir)
    killed, survivors = sweep(lambda: _left(identity, marker))
    return Leftovers(victims(killed), victims(survivors))


def _left(identity: RunIdentity | None, marker: bytes) -> list[Process]:
    among = living()
    session = _living_session(identity)
    roots = {
        process.pid
        for process in among
        if (session and process.session == session) or _is_marked(process.pid, marker)
    }
    return [p for p in with_descendants(roots, among) if p.pid != os.getpid()]


def _living_session(identity: RunIdentity | None) -> int:
    """0 once its leader is dead: the number may by then be the session of strangers."""
    if identity is None or not identity.is_local:
        return 0
    return identity.agent.pid if identity.agent.find() else 0


def _is_marked(pid: int, marker: bytes) -> bool:
    try:
        environ = read_file(f"/proc/{pid}/environ", _ENVIRON_BYTES)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return marker in environ.split(b"\0")
