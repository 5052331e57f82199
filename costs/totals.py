"""What runs took in tokens and dollars, for lists of them."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, Sum

from costs.models import Usage


@dataclass(frozen=True, kw_only=True)
class Total:
    """`cost_usd` is None where no price is known; then, or in part, `unpriced` calls are told."""

    tokens: int
    cost_usd: Decimal | None
    calls: int
    unpriced: int


_TOKENS = F("input_tokens") + F("cache_read_tokens") + F("cache_write_tokens") + F("output_tokens")
_SUMS: dict[str, Any] = {
    "tokens": Sum(_TOKENS),
    "cost": Sum("cost_usd"),
    "calls": Count("id"),
    "unpriced": Count("id", filter=Q(cost_usd__isnull=True)),
}


def totals_of_runs(run_ids: Collection[UUID]) -> dict[UUID, Total]:
    """Runs without any usage are left out."""
    found = Usage.objects.filter(run_id__in=run_ids).order_by()
    rows: Any = found.values("run_id").annotate(**_SUMS)
    return {row["run_id"]: _total(row) for row in rows}


def total_of_batch(batch_id: UUID) -> Total | None:
    """None without any usage."""
    row = Usage.objects.filter(batch_id=batch_id).aggregate(**_SUMS)
    return _total(row) if row["calls"] else None


def by_model(run_id: UUID) -> Any:
    """One row per model of a run, with each kind of token by itself."""
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    sums: dict[str, Any] = {f"{name}_sum": Sum(name) for name in kinds}
    rows = Usage.objects.filter(run_id=run_id).order_by().values("agent", "model")
    found: Any = rows.annotate(**sums, **_SUMS).order_by("model")
    return found


def _total(row: dict[str, Any]) -> Total:
    return Total(
        tokens=row["tokens"] or 0,
        cost_usd=row["cost"],
        calls=row["calls"],
        unpriced=row["unpriced"],
    )
