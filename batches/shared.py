"""What all processes of a worker share, in a page of memory made before they fork.

Flags and a time, each written whole: no lock that a killed process could take along.
"""

import mmap
import struct
import time
from typing import Protocol

_page = mmap.mmap(-1, 16)
_TIME = struct.Struct("=d")
_TIME_AT = 8


class Flag(Protocol):
    def is_set(self) -> bool: ...
    def set(self) -> None: ...


class SharedFlag:
    def __init__(self, index: int) -> None:
        self._index = index

    def is_set(self) -> bool:
        return _page[self._index] == 1

    def set(self) -> None:
        _page[self._index] = 1

    def clear(self) -> None:
        _page[self._index] = 0


LEAVE = SharedFlag(0)
"""Let every batch go now; agents live on under their supervisors."""

DRAIN = SharedFlag(1)
"""Claim no further batch; what runs is finished."""


def mark_delivery() -> None:
    """A message of the queue has reached one of this worker's processes."""
    _TIME.pack_into(_page, _TIME_AT, time.monotonic())


def last_delivery() -> float:
    """By the monotonic clock, which all processes of a machine share; 0.0 before the first."""
    return float(_TIME.unpack_from(_page, _TIME_AT)[0])
