"""What a worker needs of a supervisor; safe to use from many threads, one follower per handle."""

from collections.abc import Callable
from pathlib import Path

from batches.supervisor.following import follow
from batches.supervisor.handle import Handle
from batches.supervisor.leftovers import Leftovers, SupervisorAliveError, kill_leftovers
from batches.supervisor.processes import ON_LINUX
from batches.supervisor.record import Cause, ExitRecord, LaunchSpec, Victim, read_exit
from batches.supervisor.spool import Chunk
from batches.supervisor.starting import (
    SupervisorStartError,
    adopt,
    forget_environment,
    start,
)
from batches.supervisor.stopping import StopRequest, stop

__all__ = [
    "LIMITATIONS",
    "Cause",
    "Chunk",
    "ExitRecord",
    "Handle",
    "LaunchSpec",
    "Leftovers",
    "StopRequest",
    "SupervisorAliveError",
    "SupervisorStartError",
    "Victim",
    "adopt",
    "follow",
    "forget_environment",
    "kill_leftovers",
    "let_go",
    "read_exit",
    "run_to_end",
    "start",
    "stop",
]

LIMITATIONS = (
    ""
    if ON_LINUX
    else "On this system a stop reaches the agent's process group only: a child that moved to a "
    "session of its own lives on, and so does all that a killed supervisor leaves."
)


def let_go(handle: Handle) -> None:
    """Stop following; the run goes on, and ends after its `orphan_s` without a follower."""
    handle.let_go()


def run_to_end(
    run_dir: Path,
    spec: LaunchSpec,
    should_stop: Callable[[], StopRequest | None],
    *,
    on_output: Callable[[Chunk], None] = lambda _: None,
    poll_s: float = 0.1,
) -> ExitRecord:
    """Start and follow. Raises SupervisorStartError."""
    return follow(
        start(run_dir, spec),
        on_output=on_output,
        should_stop=should_stop,
        offsets={},
        poll_s=poll_s,
    )
