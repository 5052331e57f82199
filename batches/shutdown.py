"""Flags that all processes of a worker share: set in one, seen in all.

A byte of shared memory, made before the fork: no lock that a killed process could take along.
"""

import mmap
from typing import Protocol

_page = mmap.mmap(-1, 2)


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
