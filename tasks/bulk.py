"""Many new rows in one statement; bulk_create prepares every column of every row anew."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import AutoField, Field, Model

_Fields = list["Field[Any, Any]"]
_EXPANSION = {
    "sqlite": ("json_each(%s)", "json_extract(value, '$[{place}]')"),
    "postgresql": ("json_array_elements(%s::json)", "CAST(value ->> {place} AS {type})"),
}
"""Per database: the elements of an array as rows, and the cell at one place of such a row."""


def insert_rows(
    model: type[Model], *, columns: Sequence[str], rows: Iterable[Sequence[Any]], **shared: Any
) -> None:
    """Rows differ in `columns` only; the rest is the same in each.

    Their cells are texts, whole numbers, UUIDs or None. What is neither named nor shared has the
    field's default, worked out once: so name a primary key that is a UUID. No signals are sent.
    """
    sql, same = _statement(model, tuple(columns))
    data = json.dumps([[_cell(value) for value in row] for row in rows])
    with connection.cursor() as cursor:
        cursor.execute(sql, [*_saved_by(model(**shared), same), data])


@lru_cache
def _statement(model: type[Model], columns: tuple[str, ...]) -> tuple[str, _Fields]:
    """For one database per process; its parameters are the fields returned, then the rows."""
    written = {
        field.attname: field
        for field in model._meta.local_concrete_fields
        if not isinstance(field, AutoField)
    }
    varying = [written.pop(name) for name in columns]
    same = list(written.values())
    source, cell = _EXPANSION[connection.vendor]
    cells = [
        cell.format(place=place, type=field.cast_db_type(connection))
        for place, field in enumerate(varying)
    ]
    names = ", ".join(str(field.column) for field in (*varying, *same))
    values = ", ".join([*cells, *["%s"] * len(same)])
    # Only names and types of the model's own fields are put in.
    sql = f"INSERT INTO {model._meta.db_table} ({names}) SELECT {values} FROM {source}"  # noqa: S608
    return sql, same


def _saved_by(instance: Model, fields: _Fields) -> list[Any]:
    """What saving this instance would write."""
    return [
        field.get_db_prep_save(field.pre_save(instance, add=True), connection) for field in fields
    ]


def _cell(value: Any) -> Any:
    """SQLite keeps a UUID as its digits, and PostgreSQL takes those too."""
    return value.hex if isinstance(value, UUID) else value
