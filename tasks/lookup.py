"""Finding one row by what a person types: a full id, a unique prefix, a name."""

import re
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from tasks.errors import NotFound, ValidationFailed
from tasks.models import Workspace
from tasks.text import clip
from tasks.workspaces.registry import resolved_path

M = TypeVar("M", bound=Model)
_DIGITS = re.compile(r"[0-9a-f]{4,32}")
SHOWN = 5


def by_prefix(rows: QuerySet[M], text: str, *, noun: str) -> M:
    """Raises NotFound, or ValidationFailed naming the candidates of an ambiguous prefix."""
    digits = text.strip().lower().replace("-", "")
    if not _DIGITS.fullmatch(digits):
        raise ValidationFailed(
            f"{clip(text, 60)!r} is not a {noun} id: give 4 or more of its hex digits"
        )
    low, high = _bounds(digits)
    found = list(rows.filter(pk__gte=low, pk__lte=high)[: SHOWN + 1])
    if not found:
        raise NotFound(f"no {noun} has an id that begins with {text}")
    if len(found) > 1:
        names = ", ".join(f"{UUID(str(row.pk)).hex[:12]}" for row in found[:SHOWN])
        raise ValidationFailed(f"{text} is the beginning of more than one {noun} id: {names}")
    return found[0]


def _bounds(digits: str) -> tuple[UUID, UUID]:
    """Ids compare alike as text (SQLite) and as uuid (PostgreSQL)."""
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def workspace_named(text: str) -> Workspace:
    """By name, by path or by a prefix of the id. Raises NotFound."""
    row = Workspace.objects.filter(name=text).first()
    row = row or Workspace.objects.filter(repo_path=str(resolved_path(text))).first()
    if row is None and _DIGITS.fullmatch(text.lower().replace("-", "")):
        row = by_prefix(Workspace.objects.all(), text, noun="workspace")
    if row is None:
        raise NotFound(f"no workspace is named {clip(text, 200)!r} or lies at that path")
    return row
