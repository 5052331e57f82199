"""The few threads, each with a database connection, that do the streams' reading."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

T = TypeVar("T")
MOST_THREADS = 4


class Readers:
    """Connections are kept open: there are as many as threads, however many clients there are."""

    def __init__(self, threads: int = MOST_THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="stream-reader")

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        return self._pool.submit(_again_if_lost, call)

    def close(self) -> None:
        """Waits for what is under way."""
        self._pool.shutdown(cancel_futures=True)


def _again_if_lost(call: Callable[[], T]) -> T:
    """Once more on a new connection: the kept one may have been closed long ago."""
    try:
        return call()
    except (OperationalError, InterfaceError):
        connection.close()
    try:
        return call()
    except (OperationalError, InterfaceError):
        connection.close()
        raise
