"""Asks a run to stop, from any process on its host, whether or not it is followed."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from batches.supervisor import processes
from batches.supervisor.files import replace_note
from batches.supervisor.identity import read_identity, supervisor_lives
from batches.supervisor.layout import STOP


@dataclass(frozen=True)
class StopRequest:
    """`grace_s` None leaves the grace as the run's spec has it."""

    reason: str
    grace_s: float | None = None

    def is_stronger_than(self, other: "StopRequest | None") -> bool:
        if other is None:
            return True
        if self.grace_s is None:
            return False
        return other.grace_s is None or self.grace_s < other.grace_s


def stop(run_dir: Path, *, reason: str, grace_s: float | None = None) -> None:
    """Place the request and return; a run that has not started yet will end before its agent does.

    Raises OSError when neither the note nor the signal could be placed.
    """
    run_dir = run_dir.resolve()
    refused = _write_request(run_dir, StopRequest(reason, grace_s))
    if not _nudge(run_dir) and refused:
        raise refused


def _write_request(run_dir: Path, request: StopRequest) -> OSError | None:
    try:
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_note(run_dir / STOP, {"reason": request.reason, "grace_s": request.grace_s})
    except OSError as error:
        return error
    return None


def _nudge(run_dir: Path) -> bool:
    """A bare signal is a request too: on a full disk it is the one that works."""
    identity = read_identity(run_dir)
    if identity is None or not identity.is_local:
        return False
    if process := identity.supervisor.find():
        return processes.send(process, signal.SIGTERM)
    if processes.ON_LINUX or not supervisor_lives(run_dir):
        return False
    os.kill(identity.supervisor.pid, signal.SIGTERM)
    return True
