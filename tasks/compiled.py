"""Queries that every request asks, their SQL worked out once: Django takes longer over that than
the database over the answer."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import QuerySet

_PLACE = "\x00given"
"""No value of ours: NUL is refused wherever text comes in."""


class Compiled:
    """`make(text)` gives a query of `values_list`, which holds that text once."""

    def __init__(self, make: Callable[[str], QuerySet[Any, tuple[Any, ...]]]) -> None:
        self._make = make
        self._of = cache(self._compile)

    def first(self, text: str) -> tuple[Any, ...] | None:
        sql, params, converters = self._of(connection.vendor)
        with connection.cursor() as cursor:
            cursor.execute(sql, [text if value == _PLACE else value for value in params])
            row = cursor.fetchone()
        return tuple(_converted(row, converters)) if row else None

    def _compile(self, vendor: str) -> tuple[str, Sequence[Any], dict[int, list[Any]]]:
        compiler = self._make(_PLACE).query.get_compiler(DEFAULT_DB_ALIAS)
        sql, params = compiler.as_sql()
        columns = [column for column, _, _ in compiler.select]
        found = compiler.get_converters(columns)
        return sql, params, {place: functions for place, (functions, _) in found.items()}


def _converted(row: Sequence[Any], converters: dict[int, list[Any]]) -> Iterator[Any]:
    for place, value in enumerate(row):
        for convert in converters.get(place, ()):
            value = convert(value, None, connection)
        yield value
