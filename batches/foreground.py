"""A batch conducted by this very process, its progress shown as it goes; for runbatch and cron."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from django.db import DatabaseError, connection

from batches import lifecycle
from batches.errors import InvalidState
from batches.follow import follow
from batches.jobs import execute_batch
from batches.models import Batch
from batches.persist import persist
from tasks.models import Event

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
log = logging.getLogger(__name__)


class Printer(Protocol):
    def __enter__(self) -> "Printer": ...
    def __exit__(self, *exc: object) -> None: ...
    def show(self, event: Event) -> None: ...


class Interrupts:
    """While it is entered, a signal that would end the process cancels the batch at work.

    One that comes before there is a batch is kept for the command to look at.
    """

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._name = ""
        self._batch: Batch | None = None

    def __enter__(self) -> "Interrupts":
        self._earlier = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def asked(self) -> bool:
        return self._asked.is_set()

    @contextmanager
    def cancelling(self, batch: Batch) -> Iterator[None]:
        self._batch = batch
        if self.asked():
            self._cancel_aside(batch)
        try:
            yield
        finally:
            self._batch = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._name = signal.Signals(number).name
        self._asked.set()
        if self._batch is not None:
            self._cancel_aside(self._batch)

    def _cancel_aside(self, batch: Batch) -> None:
        """In a thread: a handler must not touch the database under the conductor's feet."""
        threading.Thread(target=_cancel, args=(batch, self._name), name="cancel").start()


def run_here(
    batch: Batch, printer: Printer, *, interrupts: Interrupts, after: int, owner: str = ""
) -> None:
    """Conducts to the end. `after` is the event cursor from which the printer is fed."""
    with _printing(batch, printer, after), interrupts.cancelling(batch):
        execute_batch(batch.id, owner=owner)
    batch.refresh_from_db()


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
    """The batch goes on when nobody can see it any more: a closed terminal, a full disk."""
    try:
        with printer:
            for event in follow(batch, after=after, ended=ended):
                printer.show(event)
    except (OSError, DatabaseError) as error:
        log.warning("progress is shown no more: %s", error)
    finally:
        connection.close()


def _cancel(batch: Batch, name: str) -> None:
    reason = f"interrupted by {name}"
    try:
        persist(lambda: lifecycle.cancel_batch(batch_id=batch.id, reason=reason))
    except InvalidState:
        return  # asked twice, or just finished
    finally:
        connection.close()
