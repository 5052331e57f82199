"""The threads in which attempts run; each keeps its database connection until the batch ends."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from django.db import connection

J = TypeVar("J")
R = TypeVar("R")


class Slots(Generic[J, R]):
    """Runs jobs in up to `size` threads, started as needed; use as a context.

    `wait` gives (job, result or the exception it raised), or None after the time-out or a wake.
    """

    def __init__(self, size: int, work: Callable[[J], R]) -> None:
        self._size = size
        self._work = work
        self._inbox: SimpleQueue[J | None] = SimpleQueue()
        self._outbox: SimpleQueue[tuple[J, R | BaseException] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.busy = 0

    @property
    def free(self) -> int:
        return self._size - self.busy

    def __enter__(self) -> "Slots[J, R]":
        return self

    def __exit__(self, *exc: object) -> None:
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()

    def start(self, job: J) -> None:
        self.busy += 1
        if self.busy > len(self._threads):
            number = len(self._threads) + 1
            thread = threading.Thread(target=self._serve, name=f"slot-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._inbox.put(job)

    def wait(self, timeout_s: float | None) -> tuple[J, R | BaseException] | None:
        try:
            done = self._outbox.get(timeout=timeout_s)
        except Empty:
            return None
        if done is not None:
            self.busy -= 1
        return done

    def wake(self) -> None:
        self._outbox.put(None)

    def _serve(self) -> None:
        try:
            while (job := self._inbox.get()) is not None:
                self._outbox.put((job, self._result(job)))
        finally:
            connection.close()

    def _result(self, job: J) -> R | BaseException:
        # The outermost frame of a worker thread: the conductor turns this into the run's row.
        try:
            return self._work(job)
        except BaseException as error:
            return error
