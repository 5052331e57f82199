"""Cursor pages for every list: stable while rows come and go, constant in cost."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request

from tasks.errors import ValidationFailed

M = TypeVar("M", bound=Model)
MAX_CURSOR = 2000


def read_limit(request: Request, *, default: int, maximum: int) -> int:
    """Raises ValidationFailed."""
    text = request.GET.get("limit", "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= maximum):
        message = f"must be a whole number from 1 to {maximum}"
        raise ValidationFailed(f"limit: {message}", fields={"limit": [message]})
    return int(text)


def page_of(
    rows: QuerySet[M], request: Request, *, order: Sequence[str], default: int, maximum: int
) -> tuple[list[M], str | None]:
    """One page and the cursor of the next. `order` is of fields, `-` for falling, the last unique.

    Raises ValidationFailed for a cursor that is not one of ours.
    """
    limit = read_limit(request, default=default, maximum=maximum)
    after = request.GET.get("cursor", "")
    if after:
        rows = rows.filter(_beyond(order, _decode(after, len(order))))
    found = list(rows.order_by(*order)[: limit + 1])
    more = len(found) > limit
    found = found[:limit]
    return found, _encode(order, found[-1]) if more else None


def _beyond(order: Sequence[str], values: Sequence[Any]) -> Q:
    """(a, b) after (x, y): a > x, or a = x and b > y; for as many fields as there are."""
    condition = Q()
    same = Q()
    for name, value in zip(order, values, strict=True):
        field = name.lstrip("-")
        operator = "lt" if name.startswith("-") else "gt"
        condition |= same & Q(**{f"{field}__{operator}": value})
        same &= Q(**{field: value})
    return condition


def _encode(order: Sequence[str], row: Model) -> str:
    values = [_plain(getattr(row, name.lstrip("-"))) for name in order]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value)


def _decode(text: str, fields: int) -> list[Any]:
    try:
        if len(text) > MAX_CURSOR:
            raise ValueError
        values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if not isinstance(values, list) or len(values) != fields:
            raise ValueError
    except (ValueError, binascii.Error, UnicodeError):
        raise ValidationFailed(
            "cursor: is not one of ours", fields={"cursor": ["is not one of ours"]}
        ) from None
    return values
