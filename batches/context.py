"""What one attempt knows and may write; every write of it is fenced."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from batches.lease import Lease
from batches.models import Batch, Run, Stage
from batches.models.stage import StageOutcome
from batches.persist import persist
from batches.place import Place
from batches.reasons import Reason
from batches.results import RunResult, failed
from batches.scope import StopScope
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.models import Task
from tasks.text import clip, storable


class StageFailed(Exception):
    """Ends the run with a result; the stage that raised it is marked failed."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.message)
        self.result = result


@dataclass(kw_only=True)
class RunContext:
    lease: Lease
    batch: Batch
    run: Run
    scope: StopScope
    place: Place
    facts: dict[str, Any] = field(default_factory=dict)
    _open: Stage | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A row while the block runs. Its end is written with the next stage's begin, or by
        `close_stage`: one transaction between two stages."""
        persist(lambda: self._enter(name))
        try:
            yield
        except StageFailed as failure:
            self._settle(StageOutcome.FAILED, failure.result.message)
            raise
        except BaseException as error:
            self._settle(StageOutcome.INTERRUPTED, str(error))
            raise
        self._settle(StageOutcome.OK, "")

    def task(self) -> Task:
        """As it is now. Raises StageFailed when someone deleted it."""
        task = Task.objects.filter(runs=self.run).first()
        if task is None:
            raise StageFailed(failed(Reason.TASK_MOVED, "the task was deleted while it ran"))
        return task

    def trailers(self) -> dict[str, str]:
        """Where a commit of this run comes from."""
        return {
            "Codeframe-Batch": str(self.run.batch_id),
            "Codeframe-Task": str(self.run.task_id),
            "Codeframe-Run": str(self.run.id),
            "Codeframe-Attempt": str(self.run.attempt),
        }

    def save(self, **facts: Any) -> None:
        """Writes columns of the run at once, for what a next owner must know. Raises Fenced."""
        for name, value in facts.items():
            setattr(self.run, name, value)
        persist(lambda: self._save(facts))

    def say(self, type: str, payload: dict[str, Any]) -> None:
        """An event of this run. Raises Fenced."""
        persist(lambda: self._say([self._event(type, payload)]))

    def save_and_say(self, type: str, payload: dict[str, Any], **facts: Any) -> None:
        for name, value in facts.items():
            setattr(self.run, name, value)

        def write() -> None:
            with transaction.atomic():
                self.lease.require()
                Run.objects.filter(id=self.run.id).update(**facts)
                record(workspace_id=self.lease.workspace_id, events=[self._event(type, payload)])

        persist(write)

    def close_stage(self) -> None:
        """Writes the end of the last stage. Raises Fenced."""
        if self._open is not None:
            persist(self._close)

    # -- inside ----------------------------------------------------------------------------------

    def _enter(self, name: str) -> None:
        with transaction.atomic():
            self.lease.require()
            self._write_end()
            opened = Stage.objects.create(run=self.run, name=name, started_at=timezone.now())
            Run.objects.filter(id=self.run.id).update(stage=name)
            record(
                workspace_id=self.lease.workspace_id,
                events=[self._event(types.RUN_STAGE, {"stage": name, "attempt": self.run.attempt})],
            )
        self._open = opened

    def _settle(self, outcome: StageOutcome, detail: str) -> None:
        if self._open is not None:
            self._open.ended_at = timezone.now()
            self._open.outcome = outcome
            self._open.detail = clip(storable(detail), 2000)

    def _close(self) -> None:
        with transaction.atomic():
            self.lease.require()
            self._write_end()
        self._open = None

    def _write_end(self) -> None:
        if self._open is not None:
            self._open.save(update_fields=["ended_at", "outcome", "detail"])

    def _save(self, facts: dict[str, Any]) -> None:
        with transaction.atomic():
            self.lease.require()
            Run.objects.filter(id=self.run.id).update(**facts)

    def _say(self, events: list[NewEvent]) -> None:
        with transaction.atomic():
            self.lease.require()
            record(workspace_id=self.lease.workspace_id, events=events)

    def _event(self, type: str, payload: dict[str, Any]) -> NewEvent:
        return NewEvent(
            type=type,
            batch_id=self.batch.id,
            run_id=self.run.id,
            task_id=self.run.task_id,
            payload=payload,
        )
