"""Few threads of a process work at the same time; those that wait for something let others.

Python runs one thread at a time. With twenty that want to, the event loop is one of twenty and is
late by as many turns; with four it is late by four, and all together are done as soon.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Begin = Callable[[], object]


class Turnstile:
    """`places` begin at once; who comes back from a wait needs no place."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._at_work = 0
        self._waiting: deque[Begin] = deque()
        self._lock = threading.Lock()

    def come(self, begin: Begin) -> None:
        """`begin` is called when it may start its thread, which then goes through `inside`."""
        with self._lock:
            if self._at_work >= self._places:
                self._waiting.append(begin)
                return
            self._at_work += 1
        begin()

    def hurry(self, begin: Begin) -> None:
        """Begins although no place is free, if it has not begun: what is inside may be stuck."""
        with self._lock:
            if begin not in self._waiting:
                return
            self._waiting.remove(begin)
            self._at_work += 1
        begin()

    @contextmanager
    def inside(self) -> Iterator[None]:
        _here.turnstile = self
        try:
            yield
        finally:
            _here.turnstile = None
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._at_work -= 1
            if not self._waiting or self._at_work >= self._places:
                return
            begin = self._waiting.popleft()
            self._at_work += 1
        begin()

    def _return(self) -> None:
        with self._lock:
            self._at_work += 1


class _Here(threading.local):
    turnstile: Turnstile | None = None


_here = _Here()


@contextmanager
def aside() -> Iterator[None]:
    """Around what only waits: a child process, a pause. Nothing in threads that entered nothing."""
    turnstile = _here.turnstile
    if turnstile is None:
        yield
        return
    turnstile._leave()
    try:
        yield
    finally:
        turnstile._return()
