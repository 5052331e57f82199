"""Lists that go on after a row: stable while rows come and go, and constant in cost."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

MAX_CURSOR = 80
LARGEST = 2**63 - 1

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Piece(Generic[M]):
    """`older` is the cursor of what follows, empty at the end; `first` says nothing came before."""

    rows: list[M]
    older: str
    first: bool


def newest_first(rows: QuerySet[M], request: HttpRequest, *, size: int) -> Piece[M]:
    """By `created_at`, then `id` (a UUID), from behind the row that `?before=` names."""
    after = _moment_and_id(request.GET.get("before", ""))
    if after:
        moment, row_id = after
        rows = rows.filter(Q(created_at__lt=moment) | Q(created_at=moment, id__gt=row_id))
    found = list(rows.order_by("-created_at", "id")[: size + 1])
    older = ""
    if len(found) > size:
        last = found[size - 1]
        older = f"{last.created_at.isoformat()}_{last.pk.hex}"  # type: ignore[attr-defined]
    return Piece(rows=found[:size], older=older, first=after is None)


def by_number(rows: QuerySet[M], request: HttpRequest, *, field: str, size: int) -> Piece[M]:
    """Falling by a whole number, from below the one that `?before=` names."""
    text = request.GET.get("before", "")
    before = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    before = min(before, LARGEST)
    if before:
        rows = rows.filter(**{f"{field}__lt": before})
    found = list(rows.order_by(f"-{field}")[: size + 1])
    older = str(getattr(found[size - 1], field)) if len(found) > size else ""
    return Piece(rows=found[:size], older=older, first=not before)


def _moment_and_id(text: str) -> tuple[datetime, UUID] | None:
    """None for what is no cursor of ours: then the list begins anew."""
    moment, _, row_id = text[:MAX_CURSOR].replace(" ", "+").partition("_")
    try:
        found = datetime.fromisoformat(moment)
        return (found, UUID(row_id)) if found.tzinfo else None
    except ValueError:
        return None
