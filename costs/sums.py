"""The running sums: changed in the transaction that changes usage, and never read from it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from costs.models import Spend, SpendScope, Usage
from costs.money import to_units
from costs.periods import day_of, month_of

COLUMNS = (
    "units",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "calls",
    "unpriced",
    "estimated",
)
Key = tuple[str, UUID, str]


@dataclass(frozen=True)
class Change:
    key: Key
    values: tuple[int, ...]
    """In the order of COLUMNS."""

    def negative(self) -> "Change":
        return Change(self.key, tuple(-value for value in self.values))


def changes_of(row: Usage, time_zone: str) -> list[Change]:
    """One for each sum that this row is part of."""
    values = (
        to_units(row.cost_usd) if row.cost_usd is not None else 0,
        row.input_tokens,
        row.cache_read_tokens,
        row.cache_write_tokens,
        row.output_tokens,
        row.calls,
        row.calls if row.cost_usd is None else 0,
        row.calls if row.estimated else 0,
    )
    return [Change(key, values) for key in _keys(row, time_zone)]


def _keys(row: Usage, time_zone: str) -> list[Key]:
    keys: list[Key] = [
        (SpendScope.DAY, row.workspace_id, day_of(row.at, time_zone)),
        (SpendScope.MONTH, row.workspace_id, month_of(row.at, time_zone)),
    ]
    subjects = (
        (SpendScope.BATCH, row.batch_id),
        (SpendScope.RUN, row.run_id),
        (SpendScope.TASK, row.task_id),
    )
    return keys + [(scope, subject, "") for scope, subject in subjects if subject]


def add(changes: Iterable[Change]) -> None:
    """One statement; rows always in one order, so that two writers never wait for each other."""
    total: dict[Key, list[int]] = defaultdict(lambda: [0] * len(COLUMNS))
    for change in changes:
        total[change.key] = [a + b for a, b in zip(total[change.key], change.values, strict=True)]
    if not total:
        return
    subject = Spend._meta.get_field("subject_id")
    values: list[Any] = []
    for key in sorted(total):
        scope, subject_id, period = key
        prepared = subject.get_db_prep_value(subject_id, connection)
        values += [scope, prepared, period, *total[key]]
    with connection.cursor() as cursor:
        cursor.execute(_upsert(len(total)), values)


def _upsert(rows: int) -> str:
    table = Spend._meta.db_table
    row = f"({', '.join(['%s'] * (3 + len(COLUMNS)))})"
    sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in COLUMNS)
    # Only names of the table and its columns are put in.
    return (
        f"INSERT INTO {table} (scope, subject_id, period, {', '.join(COLUMNS)}) "  # noqa: S608
        f"VALUES {', '.join([row] * rows)} "
        f"ON CONFLICT (scope, subject_id, period) DO UPDATE SET {sums}"
    )


def recount_periods(workspace_id: UUID, time_zone: str, *, since: date) -> None:
    """Days and months from `since` on anew, after the time zone was changed."""
    scopes = (SpendScope.DAY, SpendScope.MONTH)
    first = since.isoformat()
    with transaction.atomic():
        kept = Spend.objects.filter(scope__in=scopes, subject_id=workspace_id)
        kept.filter(period__gte=first).delete()
        kept.filter(scope=SpendScope.MONTH, period__gte=first[:7]).delete()
        # A day more: the same moment has another date in another zone.
        begin = datetime.combine(since.replace(day=1), time.min, UTC) - timedelta(days=1)
        rows = Usage.objects.filter(workspace_id=workspace_id, at__gte=begin)
        add(
            change
            for row in rows.iterator()
            for change in changes_of(row, time_zone)
            if _is_recounted(change, first)
        )


def _is_recounted(change: Change, first: str) -> bool:
    scope, _, period = change.key
    if scope == SpendScope.MONTH:
        return period >= first[:7]
    return scope == SpendScope.DAY and period >= first
