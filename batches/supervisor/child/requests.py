"""What others ask of a running supervisor: stop.json, and the lock that its followers share."""

import fcntl

from batches.supervisor.child.notes import read_note
from batches.supervisor.layout import FOLLOW_LOCK, STOP
from batches.supervisor.native import os


class Stop:
    __slots__ = ("grace_s", "reason")

    def __init__(self, reason: str, grace_s: float | None) -> None:
        self.reason = reason
        self.grace_s = grace_s


def read_stop(run_dir: str) -> Stop | None:
    """A request that cannot be read is still a request."""
    try:
        note = read_note(f"{run_dir}/{STOP}")
        grace_s = note.get("grace_s")
        return Stop(str(note.get("reason", "")), None if grace_s is None else float(grace_s))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        return Stop(f"unreadable stop request ({error})", None)


class Followers:
    """The kernel frees a dead follower's lock, and no clock is in it; a paused one still counts."""

    __slots__ = ("_fd",)

    def __init__(self, run_dir: str) -> None:
        path = f"{run_dir}/{FOLLOW_LOCK}"
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def any(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        return False
