"""What batches have spent and what makes them wait, for whoever shows them."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from batches.models import Batch
from costs import pauses, reports
from costs.models import ProviderPause, Spend, SpendScope


class Money:
    """Of the batches given; two queries whatever their number."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        rows = list(batches)
        self._spent = reports.figures(SpendScope.BATCH, [batch.id for batch in rows])
        active = {batch.provider for batch in rows if batch.is_active}
        self._pauses = pauses.current(active) if active else {}

    def spent(self, batch: Batch) -> Spend | None:
        """None where nothing was told yet."""
        return self._spent.get(batch.id)

    def pause(self, batch: Batch) -> ProviderPause | None:
        return self._pauses.get(batch.provider) if batch.is_active else None

    def of(self, batch: Batch) -> dict[str, Any]:
        """As JSON."""
        spent, pause = self.spent(batch), self.pause(batch)
        return {
            "spent": spent_object(spent) if spent else None,
            "paused": _pause_object(pause) if pause else None,
        }


def spent_by_run(run_ids: Iterable[UUID]) -> dict[UUID, Spend]:
    """Figures of runs; those that told nothing are left out."""
    return reports.figures(SpendScope.RUN, list(run_ids))


def spent_object(spent: Spend) -> dict[str, Any]:
    return {
        "cost_usd": float(round(spent.usd, 6)),
        "calls": spent.calls,
        "unpriced_calls": spent.unpriced,
        "estimated_calls": spent.estimated,
        "input_tokens": spent.input_tokens,
        "cache_read_tokens": spent.cache_read_tokens,
        "cache_write_tokens": spent.cache_write_tokens,
        "output_tokens": spent.output_tokens,
    }


def _pause_object(pause: ProviderPause) -> dict[str, Any]:
    return {
        "provider": pause.provider,
        "until": pause.until.isoformat(),
        "message": pause.message,
    }
