"""The exit record: built when nobody is left, written so that it is there whole or not at all."""
# (pathlib would double the start time)

import time

from batches.supervisor.child.notes import dumps, write_all
from batches.supervisor.layout import EXIT, EXIT_RESERVE, STDERR, STDOUT
from batches.supervisor.native import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from batches.supervisor.child.watching import Watch
    from batches.supervisor.sweep import Victim

LONGEST_REASON = 2000
MOST_NAMED = 64  # a fork storm must not make the record larger than its reserve
WRITE_ATTEMPTS = 50
WRITE_PAUSE_S = 0.2


def record_of(
    watch: "Watch", *, started_at: float, killed: "list[Victim]", survivors: "list[Victim]"
) -> "dict[str, Any]":
    spools = watch.spools
    code, signal_number = _outcome(watch)
    return {
        "cause": watch.cause,
        "code": code,
        "signal": signal_number,
        "reason": _reason(watch)[:LONGEST_REASON],
        "started_at": started_at,
        "ended_at": time.time(),
        "duration_s": time.monotonic() - watch.began,
        "stdout_bytes": spools[STDOUT].offset,
        "stderr_bytes": spools[STDERR].offset,
        "cut_bytes": sum(spool.cut for spool in spools.values()),
        "lost_bytes": sum(spool.lost for spool in spools.values()),
        "killed": killed[:MOST_NAMED],
        "survivors": survivors[:MOST_NAMED],
        "cpu_s": watch.family.cpu_s,
        "max_rss_kb": watch.family.max_rss_kb,
    }


def _outcome(watch: "Watch") -> tuple[int | None, int | None]:
    status = watch.family.wait_status
    if status is None or watch.cause == "start_failed":
        return None, None
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def _reason(watch: "Watch") -> str:
    errors = [
        f"output was lost: {spool.error.strerror}" for spool in watch.spools.values() if spool.error
    ]
    return "; ".join(filter(None, (watch.reason, *errors)))


def failed_start(reason: str, started_at: float) -> "dict[str, Any]":
    """For what went wrong before there was an agent to watch."""
    return {
        "cause": "start_failed",
        "reason": reason[:LONGEST_REASON],
        "started_at": started_at,
        "ended_at": time.time(),
    }


def write_exit(run_dir: str, record: "dict[str, Any]") -> None:
    """Raises OSError when the disk refuses for ten seconds."""
    data = (dumps(record) + "\n").encode()
    for _ in range(WRITE_ATTEMPTS):
        try:
            return _write_exit(run_dir, data)
        except OSError:
            time.sleep(WRITE_PAUSE_S)
    return _write_exit(run_dir, data)


def _write_exit(run_dir: str, data: bytes) -> None:
    """Over the bytes that start() reserved, so that a full disk has room for it."""
    reserve = f"{run_dir}/{EXIT_RESERVE}"
    fd = os.open(reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, data)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(reserve, f"{run_dir}/{EXIT}")
    _sync_folder(run_dir)


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
