"""A batch is stopped, cancelled, finished, or given up."""

from typing import Any
from uuid import UUID

from django.db import transaction

from batches.errors import InvalidState
from batches.lease import Lease
from batches.lifecycle.moves import (
    close,
    counted,
    drop_queued,
    end_run,
    move_batch,
    record_for,
    take_task_along,
)
from batches.models import Batch, Run
from batches.models.batch import BatchStatus, StopMode
from batches.models.run import LIVE, RunStatus
from batches.reasons import Reason
from batches.results import RunResult
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.models.task import TaskStatus
from tasks.text import clip, storable


def cancel_batch(*, batch_id: UUID, mode: StopMode = StopMode.CANCEL, reason: str = "") -> Batch:
    """`stop` finishes what runs, `cancel` ends it; a stop can become a cancel, never the reverse.

    A batch nobody has claimed is CANCELLED at once; else CANCELLING until its last process ended.
    Raises InvalidState when it is finished.
    """
    with transaction.atomic():
        batch = Batch.objects.select_for_update(no_key=True).get(id=batch_id)
        again = batch.status == BatchStatus.CANCELLING
        if not batch.is_active or (again and batch.stop_mode == StopMode.CANCEL):
            raise InvalidState(f"batch {batch.short_id} is {batch.status}; it cannot be stopped")
        changes = {"stop_mode": mode, "stop_reason": clip(storable(reason), 1000)}
        if batch.status == BatchStatus.PENDING:
            _cancel_unclaimed(batch, changes)
        else:
            move_batch(batch, BatchStatus.CANCELLING, same=again, changes=changes)
            record_for(batch, types.BATCH_STOPPING, {"mode": mode, "reason": reason})
    batch.refresh_from_db()
    return batch


def finish_batch(*, lease: Lease, status: BatchStatus, reason: str = "", message: str = "") -> str:
    """Writes the one final event; returns the status it got.

    A cancel that committed first wins: then the batch ends CANCELLED with every result kept.
    """
    with transaction.atomic():
        lease.require()
        batch = Batch.objects.get(id=lease.batch_id)
        if batch.status == BatchStatus.CANCELLING:
            status, reason = BatchStatus.CANCELLED, Reason.CANCELLED
            message = batch.stop_reason or Reason.CANCELLED.sentence
        close(batch, status, reason=reason, message=message)
    return status


def fail_batch(*, lease: Lease, message: str) -> None:
    """codeframe itself failed: runs that are still live end with the batch."""
    with transaction.atomic():
        lease.require()
        _end_live_runs(lease, message)
        batch = Batch.objects.get(id=lease.batch_id)
        stopping = batch.status == BatchStatus.CANCELLING
        status = BatchStatus.CANCELLED if stopping else BatchStatus.FAILED
        close(batch, status, reason=Reason.INTERNAL_ERROR, message=message)


def _cancel_unclaimed(batch: Batch, changes: dict[str, Any]) -> None:
    message = changes["stop_reason"] or Reason.CANCELLED.sentence
    waiting = Run.objects.filter(batch=batch)
    events = drop_queued(waiting, RunStatus.CANCELLED, Reason.CANCELLED, message)
    counts = counted([RunStatus.CANCELLED] * len(events))
    Batch.objects.filter(id=batch.id).update(**changes, **counts)
    batch.refresh_from_db()
    close(batch, BatchStatus.CANCELLED, reason=Reason.CANCELLED, message=message, before=events)


def _end_live_runs(lease: Lease, message: str) -> None:
    events: list[NewEvent] = []
    ended: list[RunStatus] = []
    ends = {RunStatus.QUEUED: RunStatus.CANCELLED, RunStatus.RUNNING: RunStatus.FAILED}
    for run in Run.objects.filter(batch_id=lease.batch_id, status__in=LIVE):
        end = ends[RunStatus(run.status)]
        ended.append(end)
        result = RunResult(status=end, reason=Reason.INTERNAL_ERROR, message=message)
        events.append(end_run(run, result))
        if end is RunStatus.FAILED:
            events += take_task_along(run, TaskStatus.FAILED, message)
    if ended:
        lease.require(**counted(ended))
    record(workspace_id=lease.workspace_id, events=events)
