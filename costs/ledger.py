"""The only writer of usage, and the sums over it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from costs.models import Usage

ZERO = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class Call:
    """Token counts are of one call, not cumulative; negative ones are the engine's mistake."""

    call_id: str
    agent: str
    model: str
    at: datetime
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    price_source: str = ""


def record_calls(
    calls: Sequence[Call],
    *,
    workspace_id: UUID,
    batch_id: UUID | None = None,
    run_id: UUID | None = None,
    task_id: UUID | None = None,
) -> None:
    """Each call once, however often it is told. Raises ValueError for negative counts."""
    for call in calls:
        if min(_tokens(call)) < 0 or (call.cost_usd is not None and call.cost_usd < 0):
            raise ValueError(f"call {call.call_id}: counts and costs are never negative")
    Usage.objects.bulk_create(
        (
            Usage(
                workspace_id=workspace_id,
                batch_id=batch_id,
                run_id=run_id,
                task_id=task_id,
                **vars(call),
            )
            for call in calls
        ),
        ignore_conflicts=True,
    )


def _tokens(call: Call) -> tuple[int, int, int, int]:
    return (
        call.input_tokens,
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.output_tokens,
    )


def usage_of_days(workspace_id: UUID, days: int, *, today: date) -> QuerySet[Usage]:
    return _days(days, today).filter(workspace_id=workspace_id)


def _days(days: int, today: date) -> QuerySet[Usage]:
    """The last `days` days of UTC, today included."""
    first = datetime.combine(today - timedelta(days=days - 1), time.min, UTC)
    last = datetime.combine(today + timedelta(days=1), time.min, UTC)
    return Usage.objects.filter(at__gte=first, at__lt=last)


def summary(workspace_id: UUID, days: int, *, today: date) -> dict[str, Any]:
    rows = usage_of_days(workspace_id, days, today=today)
    totals = rows.aggregate(
        cost=Sum("cost_usd"),
        tasks=Count("task_id", distinct=True),
        calls=Count("id"),
        unpriced=Count("id", filter=Q(cost_usd__isnull=True)),
        of_tasks=Sum("cost_usd", filter=Q(task_id__isnull=False)),
    )
    by_day = dict(
        rows.order_by()
        .annotate(day=TruncDate("at", tzinfo=UTC))
        .values_list("day")
        .annotate(Sum("cost_usd"))
    )
    tasks = totals["tasks"]
    return {
        "total_spend_usd": totals["cost"] or ZERO,
        "total_tasks": tasks,
        "avg_cost_per_task": (totals["of_tasks"] or ZERO) / tasks if tasks else ZERO,
        "call_count": totals["calls"],
        "unpriced_calls": totals["unpriced"],
        "daily": [
            {"date": day.isoformat(), "cost_usd": by_day.get(day) or ZERO}
            for day in (today - timedelta(days=back) for back in range(days - 1, -1, -1))
        ],
    }


def by(
    field: str, workspace_id: UUID, days: int, *, today: date, limit: int | None = None
) -> list[dict[str, Any]]:
    """Sums grouped by one column, the dearest first, those without any price last."""
    rows = usage_of_days(workspace_id, days, today=today)
    if field in ("task_id", "batch_id"):
        rows = rows.filter(**{f"{field}__isnull": False})
    grouped = (
        rows.order_by()
        .values(field)
        .annotate(
            input_tokens=Sum("input_tokens"),
            cache_read_tokens=Sum("cache_read_tokens"),
            cache_write_tokens=Sum("cache_write_tokens"),
            output_tokens=Sum("output_tokens"),
            total_cost_usd=Sum("cost_usd"),
            call_count=Count("id"),
            unpriced_calls=Count("id", filter=Q(cost_usd__isnull=True)),
        )
        # Databases disagree on where the unpriced ones stand.
        .order_by(F("total_cost_usd").desc(nulls_last=True), field)
    )
    found = list(grouped[:limit] if limit else grouped)
    for row in found:
        row["total_cost_usd"] = row["total_cost_usd"] or ZERO
    return found


def busiest_agents(task_ids: Collection[UUID], days: int, *, today: date) -> dict[UUID, str]:
    """For each task the agent with the most calls; of several the first by name."""
    rows = (
        _days(days, today)
        .filter(task_id__in=task_ids)
        .order_by()
        .values_list("task_id", "agent")
        .annotate(calls=Count("id"))
        .order_by("calls", "-agent")
    )
    return {task_id: agent for task_id, agent, _ in rows if task_id}


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
