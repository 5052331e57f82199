"""A run starts, ends, is tried again, is never started, or is told to stop."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from batches.errors import InvalidState
from batches.lease import Lease
from batches.lifecycle.moves import (
    TASK_AFTER,
    counted,
    drop_queued,
    end_run,
    move_run,
    record_for,
    run_event,
    take_task_along,
)
from batches.models import Batch, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from batches.reasons import Reason
from batches.results import RunResult
from tasks.blockers import open_blocker
from tasks.events import types
from tasks.events.log import record
from tasks.lifecycle import shift_task
from tasks.models.task import TaskStatus


def start_run(*, lease: Lease, run: Run) -> bool:
    """False when the batch is stopping or the task was moved by someone: nothing was started.

    The batch's row is locked first: after a cancel has committed, no run starts.
    """
    with transaction.atomic():
        if not lease.row().filter(status=BatchStatus.RUNNING).update(fence=lease.fence):
            lease.require()
            return False
        moved = shift_task(task_id=run.task_id, to=TaskStatus.IN_PROGRESS) if run.task_id else None
        if moved is None:
            return False
        now = timezone.now()
        move_run(run.id, RunStatus.RUNNING, started_at=now)
        payload = {"attempt": run.attempt, "title": run.title}
        record(
            workspace_id=lease.workspace_id,
            events=[run_event(types.RUN_STARTED, run, payload), moved],
        )
    run.started_at = now
    return True


def finish_run(*, lease: Lease, run: Run, result: RunResult) -> None:
    """The last attempt's end: counts it and takes the task along."""
    with transaction.atomic():
        lease.require(**counted([result.status]))
        events = [end_run(run, result)]
        if result.status is RunStatus.BLOCKED and run.task_id:
            _, asked = open_blocker(
                task_id=run.task_id,
                run_id=run.id,
                reason=result.reason or "",
                question=result.message,
            )
            events.append(asked)
        events += take_task_along(run, TASK_AFTER[result.status], result.message)
        record(workspace_id=lease.workspace_id, events=events)


def retry_run(*, lease: Lease, run: Run, result: RunResult, delay_s: float) -> Run:
    """Ends one attempt and queues the next, in one transaction."""
    with transaction.atomic():
        lease.require()
        ended = end_run(run, result, superseded=True)
        following = Run.objects.create(
            batch_id=run.batch_id,
            task_id=run.task_id,
            title=run.title,
            position=run.position,
            round=run.round,
            attempt=run.attempt + 1,
            not_before=timezone.now() + timedelta(seconds=delay_s),
        )
        payload = {"attempt": following.attempt, "delay_s": delay_s, "because": result.reason}
        moved = take_task_along(run, TaskStatus.READY, "to be tried again")
        record(
            workspace_id=lease.workspace_id,
            events=[ended, run_event(types.RUN_RETRY, following, payload), *moved],
        )
    return following


def drop_runs(
    *, lease: Lease, runs: Sequence[Run], status: RunStatus, reason: Reason, message: str = ""
) -> None:
    """Queued runs that will never start: SKIPPED or CANCELLED, each with its event."""
    if not runs:
        return
    with transaction.atomic():
        lease.require()
        waiting = Run.objects.filter(batch_id=lease.batch_id, id__in=[run.id for run in runs])
        events = drop_queued(waiting, status, reason, message or reason.sentence)
        if events:
            lease.require(**counted([status] * len(events)))
        record(workspace_id=lease.workspace_id, events=events)


def stop_run(*, run: Run, by: str = "") -> None:
    """Asks for one run's end; its batch goes on. Raises InvalidState when it does not run."""
    with transaction.atomic():
        batch = Batch.objects.select_for_update(no_key=True).get(id=run.batch_id)
        asked = Run.objects.filter(id=run.id, status=RunStatus.RUNNING).update(stop_requested=True)
        if not asked:
            raise InvalidState(f"run {run.short_id} is {run.status}, so there is nothing to stop")
        record_for(batch, types.RUN_STOPPING, {"by": by}, run=run)
