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
Ids = Collection[UUID] | QuerySet[Any, UUID]
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


def by_model_of_run(run_id: UUID) -> list[dict[str, Any]]:
    """Of each model that a run has called; `total_cost_usd` None where no price is known."""
    rows: Any = Usage.objects.filter(run_id=run_id).order_by().values("agent", "model")
    return list(rows.annotate(**_sums()).order_by("model", "agent"))


def figures(scope: SpendScope, subject_ids: Ids) -> dict[UUID, Spend]:
    """What batches, runs or tasks have taken so far; those without any call are left out."""
    rows = Spend.objects.filter(scope=scope, subject_id__in=subject_ids)
    return {row.subject_id: row for row in rows}


def known_costs(scope: SpendScope, subject_ids: Ids) -> dict[UUID, Decimal]:
    """Of batches, runs or tasks; those of which no price is known are left out."""
    found = figures(scope, subject_ids).items()
    return {key: spend.cost_usd for key, spend in found if spend.cost_usd is not None}
