"""Where a page's stream is, and from which event on the page needs it."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from tasks.models import EventCounter

Kind = Literal["workspaces", "batches", "runs"]


@dataclass(frozen=True, kw_only=True)
class Stream:
    """For `<body data-stream data-cursor>`."""

    path: str
    cursor: int


def stream_of(kind: Kind, row_id: UUID, *, workspace_id: UUID) -> Stream:
    """Ask before the page's rows are read: what happens meanwhile is then told twice, not never."""
    counter = EventCounter.objects.filter(workspace_id=workspace_id)
    cursor = counter.values_list("seq", flat=True).first()
    return Stream(path=f"/ws/{kind}/{row_id}/", cursor=cursor or 0)
