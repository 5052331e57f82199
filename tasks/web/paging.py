"""Lists in pages of a fixed size: one query a page, and no count of the whole."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

LAST_PAGE = 100_000

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, kw_only=True)
class Page(Generic[M]):
    """`next` and `previous` are page numbers, None where there is no such page."""

    rows: list[M]
    number: int
    next: int | None

    @property
    def previous(self) -> int | None:
        return self.number - 1 if self.number > 1 else None


def page_of(rows: QuerySet[M], request: HttpRequest, *, size: int) -> Page[M]:
    """The page that `?page=` names; one row more is read, to know whether another follows."""
    number = _number(request.GET.get("page", ""))
    start = (number - 1) * size
    found = list(rows[start : start + size + 1])
    more = len(found) > size and number < LAST_PAGE
    return Page(rows=found[:size], number=number, next=number + 1 if more else None)


def _number(text: str) -> int:
    """What is no page number is the first page; long digit strings would overflow the database."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(LAST_PAGE))):
        return 1
    return min(max(1, int(text)), LAST_PAGE)
