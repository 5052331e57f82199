"""The compare-and-sets that the verbs are made of; callers hold the batch's row lock."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone

from batches.errors import InvalidState
from batches.models import Batch, Run
from batches.models.batch import BATCH_TRANSITIONS, BatchStatus
from batches.models.run import RUN_TRANSITIONS, RunStatus
from batches.reasons import Reason
from batches.results import RunResult
from tasks.events.log import NewEvent, record
from tasks.lifecycle import shift_task
from tasks.models.task import TaskStatus
from tasks.text import clip, stored

COUNTERS = {
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.LOST: "failed",
    RunStatus.BLOCKED: "blocked",
    RunStatus.SKIPPED: "skipped",
    RunStatus.CANCELLED: "cancelled",
}
TASK_AFTER = {
    RunStatus.COMPLETED: TaskStatus.DONE,
    RunStatus.FAILED: TaskStatus.FAILED,
    RunStatus.LOST: TaskStatus.FAILED,
    RunStatus.BLOCKED: TaskStatus.BLOCKED,
    RunStatus.CANCELLED: TaskStatus.READY,
}
"""Where a run's end takes its task. A retry takes it to READY instead."""


def move_batch(
    batch: Batch, to: BatchStatus, *, changes: dict[str, Any], same: bool = False
) -> None:
    sources = [state for state, targets in BATCH_TRANSITIONS.items() if to in targets]
    sources += [to] if same else []
    moved = Batch.objects.filter(id=batch.id, status__in=sources).update(status=to, **changes)
    if not moved:
        raise InvalidState(f"batch {batch.short_id} is {batch.status} and cannot become {to}")


def move_run(run_id: UUID, to: RunStatus, **changes: Any) -> None:
    sources = [state for state, targets in RUN_TRANSITIONS.items() if to in targets]
    if not Run.objects.filter(id=run_id, status__in=sources).update(status=to, **changes):
        raise InvalidState(f"run {run_id.hex[:8]} cannot become {to} any more")


def end_run(run: Run, result: RunResult, *, superseded: bool = False) -> NewEvent:
    reason, message = str(result.reason or ""), stored(result.message)
    move_run(
        run.id,
        result.status,
        reason=reason,
        message=message,
        superseded=superseded,
        stage="",
        finished_at=timezone.now(),
        **result.facts,
    )
    if result.stage is not None:
        result.stage.save(update_fields=["ended_at", "outcome", "detail", "commands"])
    payload = {"reason": reason, "message": message, "attempt": run.attempt}
    return run_event(f"RUN_{result.status}", run, payload)


def take_task_along(run: Run, to: TaskStatus, why: str) -> list[NewEvent]:
    """A task that someone moved or deleted meanwhile stays as it is."""
    moved = shift_task(task_id=run.task_id, to=to, why=clip(why, 300)) if run.task_id else None
    return [moved] if moved else []


def counted(statuses: Iterable[RunStatus]) -> dict[str, Any]:
    names = [COUNTERS[status] for status in statuses]
    return {name: F(name) + names.count(name) for name in set(names)}


def drop_queued(
    runs: QuerySet[Run], status: RunStatus, reason: Reason, message: str
) -> list[NewEvent]:
    """Those of `runs` that still wait; the batch's row is locked, so none starts meanwhile."""
    message = stored(message)
    waiting = list(runs.filter(status=RunStatus.QUEUED).order_by("position"))
    Run.objects.filter(id__in=[run.id for run in waiting]).update(
        status=status, reason=reason, message=message, finished_at=timezone.now()
    )
    payload = {"reason": reason, "message": message}
    return [run_event(f"RUN_{status}", run, payload) for run in waiting]


def close(
    batch: Batch,
    status: BatchStatus,
    *,
    reason: str,
    message: str,
    before: Sequence[NewEvent] = (),
) -> None:
    message = stored(message)
    changes = {"reason": reason, "message": message, "finished_at": timezone.now()}
    move_batch(batch, status, changes=changes | {"lease_owner": "", "lease_expires_at": None})
    payload = {name: getattr(batch, name) for name in sorted({*COUNTERS.values(), "total"})}
    payload |= {"reason": reason, "message": message, "verification": batch.verification}
    payload |= {"landing": batch.landing, "round": batch.round}
    final = NewEvent(type=f"BATCH_{status}", batch_id=batch.id, payload=payload)
    record(workspace_id=batch.workspace_id, events=[*before, final])


def record_for(
    batch: Batch,
    type: str,
    payload: dict[str, Any],
    *,
    run: Run | None = None,
    also: Iterable[NewEvent] = (),
) -> None:
    event = NewEvent(
        type=type,
        batch_id=batch.id,
        run_id=run.id if run else None,
        task_id=run.task_id if run else None,
        payload=payload,
    )
    record(workspace_id=batch.workspace_id, events=[event, *also])


def run_event(type: str, run: Run, payload: dict[str, Any]) -> NewEvent:
    return NewEvent(
        type=type,
        batch_id=run.batch_id,
        run_id=run.id,
        task_id=run.task_id,
        payload=payload,
    )
