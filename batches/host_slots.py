"""Caps per machine, over all its processes: a slot is a file lock, so the kernel frees it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from batches import paths


def take_slot(kind: str, limit: int) -> int | None:
    """A descriptor that holds one of `limit` slots while it, or a copy of it, is open; or None."""
    folder = paths.state_folder("slots")
    for number in range(limit):
        fd = os.open(folder / f"{kind}-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        return fd
    return None


@contextmanager
def slot(kind: str, limit: int) -> Iterator[bool]:
    """True while a slot is held; False when there was none."""
    fd = take_slot(kind, limit)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            os.close(fd)
