"""The event table as streams read it: by cursor, in pages, ready for sending."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from tasks.events.payloads import Line, line_of
from tasks.events.target import Target
from tasks.models import Event, EventCounter

_COLUMNS = ("seq", "type", "workspace_id", "task_id", "batch_id", "run_id", "created_at")


def read_lines(target: Target, *, after: int, limit: int) -> list[Line]:
    rows = Event.objects.filter(workspace_id=target.workspace_id, seq__gt=after)
    if target.column:
        rows = rows.filter(**{target.column: target.id})
    found = rows.order_by("seq").annotate(stored=Cast("payload", TextField()))
    return [line_of(row) for row in found.values(*_COLUMNS, "stored")[:limit]]


def last_seqs(workspaces: Iterable[UUID]) -> dict[UUID, int]:
    """Committed so far; a workspace without an event is left out."""
    rows = EventCounter.objects.filter(workspace_id__in=list(workspaces))
    return dict(rows.values_list("workspace_id", "seq"))


def last_seq(workspace_id: UUID) -> int:
    return last_seqs([workspace_id]).get(workspace_id, 0)
