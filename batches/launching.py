"""Before each launch: is there money left, and does the provider take requests?"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from batches.lease import Lease
from batches.models import Batch, Run
from batches.persist import persist
from batches.results import RunResult
from batches.spending import Halt, halt_of
from costs import pauses
from tasks.events import types
from tasks.events.log import record_one


class LaunchGate:
    """Of one batch; asked by its conductor alone. What it finds is told as events, once."""

    def __init__(self, batch: Batch, lease: Lease) -> None:
        self._batch = batch
        self._lease = lease
        self._until: datetime | None = None
        self.over: Halt | None = None
        """The cap for which this batch launches nothing more."""

    def paused(self) -> bool:
        """One query; the row is there for every batch of the provider, whoever met its limit."""
        provider = self._batch.provider
        pause = persist(lambda: pauses.current([provider])).get(provider)
        until = pause.until if pause else None
        if until != self._until:
            self._until = until
            if pause is None:
                self._say(types.BATCH_UNPAUSED, {"provider": provider})
            else:
                shown = {"until": pause.until.isoformat(), "message": pause.message}
                self._say(types.BATCH_PAUSED, {"provider": provider, **shown})
        return until is not None

    def seconds_left(self) -> float:
        """Of the pause; 0 without one."""
        if self._until is None:
            return 0.0
        return max(0.0, (self._until - timezone.now()).total_seconds())

    def refusal(self, run: Run) -> Halt | None:
        """A cap of the batch, after which nothing is launched, or one of this run's task alone."""
        halt = persist(lambda: halt_of(self._batch, run))
        if halt is not None and not halt.of_task:
            self.close(halt)
        return halt

    def close(self, halt: Halt) -> None:
        if self.over is None or (halt.hard and not self.over.hard):
            self.over = halt
            self._say(types.BATCH_BUDGET, {"reached": halt.sentence, "hard": halt.hard})

    def met_limit(self, result: RunResult) -> None:
        provider = self._batch.provider
        persist(lambda: pauses.pause(provider, until=result.retry_at, message=result.message))

    def _say(self, type: str, payload: dict[str, Any]) -> None:
        def write() -> None:
            with transaction.atomic():
                self._lease.require()
                record_one(
                    workspace_id=self._lease.workspace_id,
                    type=type,
                    batch_id=self._batch.id,
                    payload=payload,
                )

        persist(write)
