"""Reading the query of a request: numbers, ids and words, each refused by name."""

import math
from collections.abc import Collection
from datetime import datetime
from typing import NoReturn
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from tasks.errors import DomainError, ValidationFailed
from tasks.text import clip, storable

MAX_BIG = 2**53
"""The largest number that every JSON reader keeps whole."""


class InvalidStatus(DomainError):
    """400, as programs that drove the older API expect it."""

    code = "VALIDATION_ERROR"
    status = 400


def refuse(name: str, sentence: str) -> NoReturn:
    raise ValidationFailed(f"{name}: {sentence}", fields={name: [sentence]})


def refuse_unstorable(request: Request) -> None:
    """NUL and lone surrogates, before a database is asked for them."""
    for name, values in request.GET.lists():
        if storable(name) != name:
            raise ValidationFailed("query: a name holds a character that cannot be stored")
        if any(storable(value) != value for value in values):
            refuse(name, "holds a character that cannot be stored")


def whole_number(
    request: Request, name: str, default: int, *, least: int = 0, most: int = MAX_BIG
) -> int:
    text = request.GET.get(name, "")
    if not text:
        return default
    digits = text.isascii() and text.isdigit() and len(text) <= 16
    if not digits or not least <= int(text) <= most:
        refuse(name, f"must be a whole number from {least} to {most}")
    return int(text)


def number(request: Request, name: str, default: float, *, most: float) -> float:
    """More than 0."""
    text = request.GET.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= most:
        refuse(name, f"must be a number above 0, up to {most:g}")
    return value


def row_id(request: Request, name: str) -> UUID | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        refuse(name, "is not an id")


def yes_or_no(request: Request, name: str) -> bool | None:
    text = request.GET.get(name, "").lower()
    if not text:
        return None
    if text not in ("true", "false"):
        refuse(name, "is true or false")
    return text == "true"


def moment(request: Request, name: str) -> datetime | None:
    """With its offset; a time without one means another moment to everyone."""
    text = request.GET.get(name, "")
    if not text:
        return None
    try:
        found = parse_datetime(text.replace(" ", "+"))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        refuse(name, "is not a time with an offset, like 2026-01-31T09:00:00Z")
    return found


def statuses(request: Request, known: Collection[str]) -> list[str]:
    """One, or several with commas; any case, dashes for underscores. Raises InvalidStatus."""
    wanted = [part.strip() for part in request.GET.get("status", "").split(",") if part.strip()]
    return [known_status(text, known) for text in wanted]


def known_status(text: str, known: Collection[str]) -> str:
    name = text.upper().replace("-", "_")
    if name not in known:
        raise InvalidStatus(f"Invalid status: {clip(text, 40)}")
    return name
