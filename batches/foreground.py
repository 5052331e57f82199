"""A batch conducted by this very process, its progress shown as it goes; for runbatch and cron."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from django.db import connection

from batches import lifecycle
from batches.errors import InvalidState
from batches.follow import follow
from batches.jobs import execute_batch
from batches.models import Batch
from tasks.models import Event

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Printer(Protocol):
    def __enter__(self) -> "Printer": ...
    def __exit__(self, *exc: object) -> None: ...
    def show(self, event: Event) -> None: ...


def run_here(batch: Batch, printer: Printer, *, after: int, owner: str = "") -> bool:
    """Conducts to the end; True when a signal asked to stop (the batch is then cancelled).

    `after` is the event cursor from which the printer is fed.
    """
    with printer, _printing(batch, printer, after), _cancel_on_signal(batch) as interrupted:
        execute_batch(batch.id, owner=owner)
    batch.refresh_from_db()
    return interrupted.is_set()


@contextmanager
def _printing(batch: Batch, printer: Printer, after: int) -> Iterator[None]:
    done = threading.Event()
    thread = threading.Thread(
        target=_print_all, args=(batch, printer, after, done.is_set), name="progress"
    )
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _print_all(batch: Batch, printer: Printer, after: int, ended: Callable[[], bool]) -> None:
    try:
        for event in follow(batch, after=after, ended=ended):
            printer.show(event)
    finally:
        connection.close()


@contextmanager
def _cancel_on_signal(batch: Batch) -> Iterator[threading.Event]:
    """A handler must not touch the database under the conductor's feet: a thread cancels."""
    interrupted = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        name = signal.Signals(number).name
        threading.Thread(target=_cancel, args=(batch, name), name="cancel").start()

    earlier = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield interrupted
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _cancel(batch: Batch, name: str) -> None:
    try:
        lifecycle.cancel_batch(batch_id=batch.id, reason=f"interrupted by {name}")
    except InvalidState:
        return  # asked twice, or just finished
    finally:
        connection.close()
