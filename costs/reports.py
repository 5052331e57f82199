"""Sums over usage for people: of a range, by day, by whatever column."""

from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from costs.models import Spend, SpendScope, Usage
from costs.money import ZERO
from costs.periods import Range

UNPRICED = Sum("calls", filter=Q(cost_usd__isnull=True), default=0)
ESTIMATED = Sum("calls", filter=Q(estimated=True), default=0)
TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
EXPORTED = (
    "at",
    "agent",
    "provider",
    "model",
    "task_id",
    "batch_id",
    "run_id",
    "call_id",
    "calls",
    *TOKENS,
    "reasoning_tokens",
    "estimated",
    "cost_usd",
    "computed_usd",
    "reported_usd",
    "price_source",
    "price_version",
    "note",
)


def of_range(workspace_id: UUID, range: Range) -> QuerySet[Usage]:
    rows = Usage.objects.filter(workspace_id=workspace_id)
    return rows.filter(at__gte=range.begin, at__lt=range.end).order_by()


def totals(workspace_id: UUID, range: Range) -> dict[str, Any]:
    found = of_range(workspace_id, range).aggregate(
        cost=Sum("cost_usd"),
        of_tasks=Sum("cost_usd", filter=Q(task_id__isnull=False)),
        tasks=Count("task_id", distinct=True),
        call_count=Sum("calls", default=0),
        unpriced_calls=UNPRICED,
        estimated_calls=ESTIMATED,
        **{name: Sum(name, default=0) for name in TOKENS},
    )
    return found | {"cost": found["cost"] or ZERO, "of_tasks": found["of_tasks"] or ZERO}


def summary(workspace_id: UUID, range: Range) -> dict[str, Any]:
    found = totals(workspace_id, range)
    tasks = found["tasks"]
    by_day = dict(_per_day(workspace_id, range).values_list("day").annotate(Sum("cost_usd")))
    return {
        "total_spend_usd": found["cost"],
        "total_tasks": tasks,
        "avg_cost_per_task": found["of_tasks"] / tasks if tasks else ZERO,
        "call_count": found["call_count"],
        "unpriced_calls": found["unpriced_calls"],
        "estimated_calls": found["estimated_calls"],
        "time_zone": range.time_zone,
        "daily": [{"date": day.isoformat(), "cost_usd": by_day.get(day) or ZERO} for day in range],
    }


def by_day(workspace_id: UUID, range: Range) -> list[dict[str, Any]]:
    """Of each day and agent that has any, the oldest first."""
    rows = _per_day(workspace_id, range).values("day", "agent").annotate(**_sums())
    return [_priced(row) for row in rows.order_by("day", "agent")]


def _per_day(workspace_id: UUID, range: Range) -> Any:
    return of_range(workspace_id, range).annotate(day=TruncDate("at", tzinfo=range.zone))


def by(
    field: str, workspace_id: UUID, range: Range, *, limit: int | None = None
) -> list[dict[str, Any]]:
    """Sums grouped by one column, the dearest first, those without any price last."""
    rows = of_range(workspace_id, range)
    if field in ("task_id", "batch_id"):
        rows = rows.filter(**{f"{field}__isnull": False})
    grouped = (
        rows.values(field)
        .annotate(**_sums())
        # Databases disagree on where the unpriced ones stand.
        .order_by(F("total_cost_usd").desc(nulls_last=True), field)
    )
    return [_priced(row) for row in (grouped[:limit] if limit else grouped)]


def _sums() -> dict[str, Any]:
    return {
        **{name: Sum(name) for name in TOKENS},
        "total_cost_usd": Sum("cost_usd"),
        "call_count": Sum("calls"),
        "unpriced_calls": UNPRICED,
        "estimated_calls": ESTIMATED,
    }


def _priced(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"total_cost_usd": row["total_cost_usd"] or ZERO}


def busiest_agents(task_ids: Collection[UUID], range: Range) -> dict[UUID, str]:
    """For each task the agent with the most calls; of several the first by name."""
    rows = (
        Usage.objects.filter(at__gte=range.begin, at__lt=range.end, task_id__in=task_ids)
        .order_by()
        .values_list("task_id", "agent")
        .annotate(calls=Sum("calls"))
        .order_by("calls", "-agent")
    )
    return {task_id: agent for task_id, agent, _ in rows if task_id}


def exported(workspace_id: UUID, range: Range, *, most: int) -> Iterator[dict[str, Any]]:
    """Every row, the oldest first, a few at a time."""
    rows: Any = of_range(workspace_id, range).order_by("at", "id").values(*EXPORTED)
    return iter(rows[:most].iterator(chunk_size=500))


def figures(scope: SpendScope, subject_ids: Collection[UUID]) -> dict[UUID, Spend]:
    """What batches, runs or tasks have taken so far; those without any call are left out."""
    rows = Spend.objects.filter(scope=scope, subject_id__in=subject_ids)
    return {row.subject_id: row for row in rows}


def cost_of_runs(batch_ids: Collection[UUID]) -> dict[UUID, Decimal]:
    """By run id; a run of which no price is known is left out."""
    rows = (
        Usage.objects.filter(batch_id__in=batch_ids, run_id__isnull=False, cost_usd__isnull=False)
        .order_by()
        .values_list("run_id")
        .annotate(Sum("cost_usd"))
    )
    return {run_id: cost for run_id, cost in rows if run_id}


def cost_of_tasks(task_ids: Collection[UUID]) -> dict[UUID, Decimal]:
    """By task id; a task of which no price is known is left out."""
    rows = (
        Usage.objects.filter(task_id__in=task_ids, cost_usd__isnull=False)
        .order_by()
        .values_list("task_id")
        .annotate(Sum("cost_usd"))
    )
    return {task_id: cost for task_id, cost in rows if task_id}


def cost_of_runs_of_task(task_id: UUID) -> dict[UUID | None, Decimal]:
    """By run id, None for calls outside of a run; a run of which no price is known is left out."""
    rows = (
        Usage.objects.filter(task_id=task_id, cost_usd__isnull=False)
        .order_by()
        .values_list("run_id")
        .annotate(Sum("cost_usd"))
    )
    return dict(rows)
