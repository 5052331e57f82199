"""A batch's events as they are committed, read from the log by cursor."""

import time
from collections.abc import Callable, Iterator
from uuid import UUID

from batches.models import Batch
from batches.models.batch import ACTIVE
from batches.persist import persist
from tasks.events import types
from tasks.models import Event

POLL_SECONDS = 0.15
PAGE = 500


def follow(
    batch: Batch, *, after: int = 0, ended: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Until the final event of the batch's current round, or until `ended` and all is read.

    Misses nothing: sequence numbers become visible in order.
    """
    cursor = after
    while True:
        last_look = ended()
        page = persist(lambda: read_page(batch.id, after=cursor))  # noqa: B023
        for event in page:
            cursor = event.seq
            yield event
            if event.type in types.FINAL_BATCH_EVENTS and _is_last(event):
                return
        if not page:
            if last_look:
                return
            time.sleep(POLL_SECONDS)


def read_page(batch_id: UUID, *, after: int) -> list[Event]:
    return list(Event.objects.filter(batch_id=batch_id, seq__gt=after).order_by("seq")[:PAGE])


def last_seq(batch_id: UUID) -> int:
    """Of the batch's newest event, 0 without any."""
    rows = Event.objects.filter(batch_id=batch_id).order_by("-seq")
    return rows.values_list("seq", flat=True).first() or 0


def is_over(batch_id: UUID) -> bool:
    """Asked before a page is read, it makes sure that an empty page was the end."""
    return not Batch.objects.filter(id=batch_id, status__in=ACTIVE).exists()


def _is_last(final: Event) -> bool:
    """False for the end of a round after which the batch was resumed."""
    later = Event.objects.filter(
        batch_id=final.batch_id, seq__gt=final.seq, type=types.BATCH_RESUMED
    )
    return not later.exists()
