"""One lock per environment, as a file: the kernel frees it when its holder is gone."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_S = 0.1
SHARED, EXCLUSIVE = fcntl.LOCK_SH, fcntl.LOCK_EX


@contextmanager
def held(
    path: Path,
    how: int,
    *,
    check: Callable[[], None],
    on_wait: Callable[[], None] = lambda: None,
) -> Iterator[int]:
    """The lock's descriptor. Waits as long as it takes; `check` raises to give up.

    A copy of the descriptor in a supervisor holds the lock until that has ended.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        waited = False
        while not _take(fd, how):
            if not waited:
                waited = True
                on_wait()
            check()
            time.sleep(POLL_S)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def held_at_once(path: Path) -> Iterator[bool]:
    """Whether the lock was free; nobody else has it, shared or not, while the block runs."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _take(fd, EXCLUSIVE)
    finally:
        os.close(fd)


def _take(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
