"""Cursor pages for every list: stable while rows come and go, constant in cost."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from rest_framework.request import Request

from tasks.api.query import refuse, whole_number
from tasks.text import storable

R = TypeVar("R")
MAX_CURSOR = 2000
Orders = Mapping[str, Sequence[str]]
"""Name -> fields, `-` for falling, the last one unique, none nullable. The first is the default."""


def page_of(
    rows: QuerySet[Any, R], request: Request, *, orders: Orders, default: int, maximum: int
) -> tuple[list[R], str | None]:
    """One page by ?order=, ?limit= and ?cursor=, and the cursor of the next.

    `rows` are models, or dictionaries (`.values`) with the fields of every order.

    Raises ValidationFailed for what is out of bounds, or a cursor that is not one of ours.
    """
    limit = whole_number(request, "limit", default, least=1, most=maximum)
    name = request.GET.get("order", "") or next(iter(orders))
    if name not in orders:
        refuse("order", f"is one of {', '.join(orders)}")
    order = orders[name]
    if after := request.GET.get("cursor", ""):
        rows = rows.filter(_beyond(order, _decode(after, name, order, rows.model)))
    found = list(rows.order_by(*order)[: limit + 1])
    more = len(found) > limit
    found = found[:limit]
    return found, _encode(name, order, found[-1]) if more else None


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


def _encode(name: str, order: Sequence[str], row: Any) -> str:
    read = row.__getitem__ if isinstance(row, dict) else partial(getattr, row)
    values = [name, *(_plain(read(field.lstrip("-"))) for field in order)]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


def _decode(text: str, name: str, order: Sequence[str], model: type[Model]) -> list[Any]:
    """Whoever makes one up gets a refusal and never an error of the database."""
    try:
        if len(text) > MAX_CURSOR:
            raise ValueError
        made_for, *values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if made_for != name or len(values) != len(order):
            raise ValueError
        return [_value(model, f, value) for f, value in zip(order, values, strict=True)]
    except (ValueError, TypeError, OverflowError, RecursionError, ValidationError):
        refuse("cursor", "is not one of ours for this order")


def _value(model: type[Model], name: str, value: Any) -> Any:
    if not isinstance(value, str | int) or (isinstance(value, str) and storable(value) != value):
        raise ValueError
    field: Any = model._meta.get_field(name.lstrip("-"))
    found = field.to_python(value)
    if isinstance(found, datetime) and timezone.is_naive(found):
        raise ValueError
    return found
