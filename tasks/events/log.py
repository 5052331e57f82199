"""The append-only event log: one row an event, numbered without gaps within a workspace."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from tasks.bulk import insert_rows
from tasks.events.wakeup import CHANNEL
from tasks.models import Event, EventCounter
from tasks.text import storable_json


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    type: str
    payload: dict[str, Any] = field(default_factory=dict)
    task_id: UUID | None = None
    batch_id: UUID | None = None
    run_id: UUID | None = None


def record(*, workspace_id: UUID, events: Iterable[NewEvent]) -> None:
    """Appends in order. Call last in the transaction that made the change.

    The counter's row stays locked until commit, so whoever reads `seq > cursor` misses nothing:
    a higher number never becomes visible before a lower one.
    """
    rows = list(events)
    if not rows:
        return
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("events are recorded inside a transaction")
    last = _take(workspace_id, len(rows))
    insert_rows(
        Event,
        columns=("seq", "type", "payload", "task_id", "batch_id", "run_id"),
        rows=(
            (seq, event.type, _text(event.payload), event.task_id, event.batch_id, event.run_id)
            for seq, event in enumerate(rows, start=last - len(rows) + 1)
        ),
        workspace_id=workspace_id,
    )


def record_one(
    *,
    workspace_id: UUID,
    type: str,
    payload: dict[str, Any] | None = None,
    task_id: UUID | None = None,
    batch_id: UUID | None = None,
    run_id: UUID | None = None,
) -> None:
    event = NewEvent(
        type=type, payload=payload or {}, task_id=task_id, batch_id=batch_id, run_id=run_id
    )
    record(workspace_id=workspace_id, events=[event])


def _text(payload: dict[str, Any]) -> str:
    return json.dumps(storable_json(payload))


_TAKE = (
    # Only the table's own name is put in.
    f"UPDATE {EventCounter._meta.db_table} SET seq = seq + %s WHERE workspace_id = %s RETURNING seq"  # noqa: S608
)
# PostgreSQL tells the relays at the commit, in the same statement; SQLite's own counter tells them.
_AND_TELL = {"postgresql": f", pg_notify('{CHANNEL}', '')"}


def _take(workspace_id: UUID, count: int) -> int:
    """Last of `count` numbers taken; makes the workspace's counter on its first event."""
    field = EventCounter._meta.pk
    key = field.get_db_prep_value(workspace_id, connection)
    take = _TAKE + _AND_TELL.get(connection.vendor, "")
    with connection.cursor() as cursor:
        cursor.execute(take, [count, key])
        row = cursor.fetchone()
        if row is None:
            EventCounter.objects.bulk_create(
                [EventCounter(workspace_id=workspace_id)], ignore_conflicts=True
            )
            cursor.execute(take, [count, key])
            row = cursor.fetchone()
    return int(row[0])
