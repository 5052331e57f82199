"""The only writer of Batch.status and Run.status; every move is a compare-and-set with its event.

Lock order everywhere: Workspace, Batch, Run, Task, then inserts. Functions that take a lease
raise Fenced, and write nothing, when another owner took the batch over.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from batches.admission import Admission
from batches.errors import InvalidState, WorkspaceBusy
from batches.lease import Lease, lease_end
from batches.models import Batch, Run, Stage
from batches.models.batch import ACTIVE, BATCH_TRANSITIONS, RESUMABLE, BatchStatus, StopMode
from batches.models.run import LIVE, RUN_TRANSITIONS, RunStatus
from batches.models.stage import StageOutcome
from batches.reasons import Reason
from batches.results import RunResult
from tasks import queue
from tasks.blockers import open_blocker
from tasks.bulk import insert_rows
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.lifecycle import shift_task, shift_tasks
from tasks.models import Workspace
from tasks.models.task import TaskStatus
from tasks.text import clip, storable

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
CLEARED_BY_RESUME = (
    "reason",
    "message",
    "stop_mode",
    "stop_reason",
    "verification",
    "verification_reason",
    "landing",
    "landing_detail",
)


# -- a batch begins ------------------------------------------------------------------------------


def create_batch(
    *,
    admission: Admission,
    origin: str,
    created_by: str = "",
    send: bool = True,
    reserve_for: str = "",
) -> Batch:
    """One transaction: guard, validation, rows, events and the queue's message.

    `reserve_for` names an owner that claims it at once, so that no worker is faster.
    Raises WorkspaceBusy, or what `Admission.check` raises; then nothing is written.
    """
    try:
        with transaction.atomic():
            # The race: two starts at once both see no active batch. The row lock orders them.
            workspace = Workspace.objects.select_for_update(no_key=True).get(
                id=admission.workspace_id
            )
            refuse_when_busy(workspace.id)
            tasks = admission.check()
            batch = Batch.objects.create(
                workspace=workspace,
                total=len(tasks),
                origin=origin,
                created_by=created_by,
                base_branch=admission.base_branch,
                lease_owner=reserve_for,
                lease_expires_at=lease_end() if reserve_for else None,
                **admission.options.fields(),
            )
            insert_rows(
                Run,
                columns=("id", "task_id", "title", "position"),
                rows=((uuid4(), task.id, task.title, place) for place, task in enumerate(tasks)),
                batch=batch,
            )
            events = shift_tasks(
                task_ids=[task.id for task in tasks if task.status == TaskStatus.BACKLOG],
                to=TaskStatus.READY,
                why="chosen for a batch",
            )
            if send:
                _send(batch)
            record(workspace_id=workspace.id, events=[_created(batch), *events])
    except IntegrityError as error:
        # SQLite has no row locks: there the constraint alone says who came first.
        refuse_when_busy(admission.workspace_id)
        raise error
    return batch


def refuse_when_busy(workspace_id: UUID) -> None:
    blocking = Batch.objects.filter(workspace_id=workspace_id, status__in=ACTIVE).first()
    if blocking:
        raise WorkspaceBusy(blocking)


def claim_batch(*, batch_id: UUID, owner: str) -> Lease | None:
    """Becomes the batch's owner; None when it is finished or another owner's lease still runs."""
    free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lt=Now()) | Q(lease_owner=owner)
    with transaction.atomic():
        batch = (
            Batch.objects.select_for_update(no_key=True)
            .filter(free, id=batch_id, status__in=ACTIVE)
            .first()
        )
        if batch is None:
            return None
        begins = batch.status == BatchStatus.PENDING
        changes: dict[str, Any] = {"lease_owner": owner, "lease_expires_at": lease_end()}
        if begins:
            changes |= {"status": BatchStatus.RUNNING}
            changes |= {} if batch.started_at else {"started_at": timezone.now()}
        claimed = Batch.objects.filter(free, id=batch_id, fence=batch.fence).update(
            fence=F("fence") + 1, **changes
        )
        if not claimed:
            return None
        if not begins:
            _interrupt_stages(batch_id)
        event = types.BATCH_STARTED if begins else types.BATCH_TAKEN_OVER
        _record(batch, event, {"owner": owner, "round": batch.round})
    return Lease(
        batch_id=batch_id, workspace_id=batch.workspace_id, owner=owner, fence=batch.fence + 1
    )


# -- runs ----------------------------------------------------------------------------------------


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
        _move_run(run.id, RunStatus.RUNNING, started_at=now)
        payload = {"attempt": run.attempt, "title": run.title}
        record(
            workspace_id=lease.workspace_id,
            events=[_run_event(types.RUN_STARTED, run, payload), moved],
        )
    run.started_at = now
    return True


def finish_run(*, lease: Lease, run: Run, result: RunResult) -> None:
    """The last attempt's end: counts it and takes the task along."""
    with transaction.atomic():
        lease.require(**_counted([result.status]))
        events = [_end_run(run, result)]
        if result.status is RunStatus.BLOCKED and run.task_id:
            _, asked = open_blocker(
                task_id=run.task_id,
                run_id=run.id,
                reason=result.reason or "",
                question=result.message,
            )
            events.append(asked)
        events += _take_task_along(run, TASK_AFTER[result.status], result.message)
        record(workspace_id=lease.workspace_id, events=events)


def retry_run(*, lease: Lease, run: Run, result: RunResult, delay_s: float) -> Run:
    """Ends one attempt and queues the next, in one transaction."""
    with transaction.atomic():
        lease.require()
        ended = _end_run(run, result, superseded=True)
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
        moved = _take_task_along(run, TaskStatus.READY, "to be tried again")
        record(
            workspace_id=lease.workspace_id,
            events=[ended, _run_event(types.RUN_RETRY, following, payload), *moved],
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
        events = _drop_queued(waiting, status, reason, message or reason.sentence)
        if events:
            lease.require(**_counted([status] * len(events)))
        record(workspace_id=lease.workspace_id, events=events)


def stop_run(*, run: Run, by: str = "") -> None:
    """Asks for one run's end; its batch goes on. Raises InvalidState when it does not run."""
    with transaction.atomic():
        batch = Batch.objects.select_for_update(no_key=True).get(id=run.batch_id)
        asked = Run.objects.filter(id=run.id, status=RunStatus.RUNNING).update(stop_requested=True)
        if not asked:
            raise InvalidState(f"run {run.short_id} is {run.status}, so there is nothing to stop")
        _record(batch, types.RUN_STOPPING, {"by": by}, run=run)


# -- a batch ends --------------------------------------------------------------------------------


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
            _move_batch(batch, BatchStatus.CANCELLING, same=again, changes=changes)
            _record(batch, types.BATCH_STOPPING, {"mode": mode, "reason": reason})
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
        _close(batch, status, reason=reason, message=message)
    return status


def fail_batch(*, lease: Lease, message: str) -> None:
    """codeframe itself failed: runs that are still live end with the batch."""
    with transaction.atomic():
        lease.require()
        _end_live_runs(lease, message)
        batch = Batch.objects.get(id=lease.batch_id)
        stopping = batch.status == BatchStatus.CANCELLING
        status = BatchStatus.CANCELLED if stopping else BatchStatus.FAILED
        _close(batch, status, reason=Reason.INTERNAL_ERROR, message=message)


def resume_batch(
    *,
    batch: Batch,
    runs: Sequence[Run],
    by: str = "",
    send: bool = True,
    reserve_for: str = "",
) -> Batch:
    """The same batch goes back to PENDING, with new attempts of `runs` (the last ones so far).

    No run at all means: only validate and land again. Raises InvalidState or WorkspaceBusy.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=batch.workspace_id)
        batch = Batch.objects.select_for_update(no_key=True).get(id=batch.id)
        if batch.status not in RESUMABLE:
            raise InvalidState(
                f"batch {batch.short_id} is {batch.status}; only PARTIAL, FAILED and CANCELLED "
                "batches can be resumed"
            )
        refuse_when_busy(batch.workspace_id)
        _queue_again(batch, runs)
        _reopen(batch, reserve_for)
        if send:
            _send(batch)
        events = shift_tasks(
            task_ids=[run.task_id for run in runs if run.task_id],
            to=TaskStatus.READY,
            why="resumed",
        )
        payload = {"runs": len(runs), "round": batch.round + 1, "by": by}
        _record(batch, types.BATCH_RESUMED, payload, also=events)
    batch.refresh_from_db()
    return batch


# -- inside --------------------------------------------------------------------------------------


def _move_batch(
    batch: Batch, to: BatchStatus, *, changes: dict[str, Any], same: bool = False
) -> None:
    sources = [state for state, targets in BATCH_TRANSITIONS.items() if to in targets]
    sources += [to] if same else []
    moved = Batch.objects.filter(id=batch.id, status__in=sources).update(status=to, **changes)
    if not moved:
        raise InvalidState(f"batch {batch.short_id} is {batch.status} and cannot become {to}")


def _move_run(run_id: UUID, to: RunStatus, **changes: Any) -> None:
    sources = [state for state, targets in RUN_TRANSITIONS.items() if to in targets]
    if not Run.objects.filter(id=run_id, status__in=sources).update(status=to, **changes):
        raise InvalidState(f"run {run_id.hex[:8]} cannot become {to} any more")


def _end_run(run: Run, result: RunResult, *, superseded: bool = False) -> NewEvent:
    reason, message = str(result.reason or ""), storable(result.message)
    _move_run(
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
        result.stage.save(update_fields=["ended_at", "outcome", "detail"])
    payload = {"reason": reason, "message": message, "attempt": run.attempt}
    return _run_event(f"RUN_{result.status}", run, payload)


def _end_live_runs(lease: Lease, message: str) -> None:
    events: list[NewEvent] = []
    ended: list[RunStatus] = []
    ends = {RunStatus.QUEUED: RunStatus.CANCELLED, RunStatus.RUNNING: RunStatus.FAILED}
    for run in Run.objects.filter(batch_id=lease.batch_id, status__in=LIVE):
        end = ends[RunStatus(run.status)]
        ended.append(end)
        result = RunResult(status=end, reason=Reason.INTERNAL_ERROR, message=message)
        events.append(_end_run(run, result))
        if end is RunStatus.FAILED:
            events += _take_task_along(run, TaskStatus.FAILED, message)
    if ended:
        lease.require(**_counted(ended))
    record(workspace_id=lease.workspace_id, events=events)


def _interrupt_stages(batch_id: UUID) -> None:
    """What the owner before had under way; stages that look at it anew have rows of their own."""
    Stage.objects.filter(run__batch_id=batch_id, ended_at=None).update(
        ended_at=timezone.now(), outcome=StageOutcome.INTERRUPTED, detail="its worker went away"
    )


def _take_task_along(run: Run, to: TaskStatus, why: str) -> list[NewEvent]:
    """A task that someone moved or deleted meanwhile stays as it is."""
    moved = shift_task(task_id=run.task_id, to=to, why=clip(why, 300)) if run.task_id else None
    return [moved] if moved else []


def _counted(statuses: Iterable[RunStatus]) -> dict[str, Any]:
    names = [COUNTERS[status] for status in statuses]
    return {name: F(name) + names.count(name) for name in set(names)}


def _cancel_unclaimed(batch: Batch, changes: dict[str, Any]) -> None:
    message = changes["stop_reason"] or Reason.CANCELLED.sentence
    waiting = Run.objects.filter(batch=batch)
    events = _drop_queued(waiting, RunStatus.CANCELLED, Reason.CANCELLED, message)
    counts = _counted([RunStatus.CANCELLED] * len(events))
    Batch.objects.filter(id=batch.id).update(**changes, **counts)
    batch.refresh_from_db()
    _close(batch, BatchStatus.CANCELLED, reason=Reason.CANCELLED, message=message, before=events)


def _drop_queued(
    runs: QuerySet[Run], status: RunStatus, reason: Reason, message: str
) -> list[NewEvent]:
    """Those of `runs` that still wait; the batch's row is locked, so none starts meanwhile."""
    message = storable(message)
    waiting = list(runs.filter(status=RunStatus.QUEUED).order_by("position"))
    Run.objects.filter(id__in=[run.id for run in waiting]).update(
        status=status, reason=reason, message=message, finished_at=timezone.now()
    )
    payload = {"reason": reason, "message": message}
    return [_run_event(f"RUN_{status}", run, payload) for run in waiting]


def _close(
    batch: Batch,
    status: BatchStatus,
    *,
    reason: str,
    message: str,
    before: Sequence[NewEvent] = (),
) -> None:
    message = storable(message)
    changes = {"reason": reason, "message": message, "finished_at": timezone.now()}
    _move_batch(batch, status, changes=changes | {"lease_owner": "", "lease_expires_at": None})
    payload = {name: getattr(batch, name) for name in sorted({*COUNTERS.values(), "total"})}
    payload |= {"reason": reason, "message": message, "verification": batch.verification}
    payload |= {"landing": batch.landing, "round": batch.round}
    final = NewEvent(type=f"BATCH_{status}", batch_id=batch.id, payload=payload)
    record(workspace_id=batch.workspace_id, events=[*before, final])


def _queue_again(batch: Batch, runs: Sequence[Run]) -> None:
    Run.objects.filter(id__in=[run.id for run in runs]).update(superseded=True)
    insert_rows(
        Run,
        columns=("id", "task_id", "title", "position", "attempt"),
        rows=((uuid4(), run.task_id, run.title, run.position, run.attempt + 1) for run in runs),
        batch=batch,
        round=batch.round + 1,
    )


def _reopen(batch: Batch, reserve_for: str) -> None:
    kept = Run.objects.filter(batch=batch, superseded=False).exclude(status=RunStatus.QUEUED)
    statuses = list(kept.values_list("status", flat=True))
    counts = dict.fromkeys(COUNTERS.values(), 0)
    for status in statuses:
        counts[COUNTERS[RunStatus(status)]] += 1
    cleared = dict.fromkeys(CLEARED_BY_RESUME, "")
    changes = counts | cleared | {"round": batch.round + 1, "finished_at": None}
    if reserve_for:
        changes |= {"lease_owner": reserve_for, "lease_expires_at": lease_end()}
    _move_batch(batch, BatchStatus.PENDING, changes=changes)


def _send(batch: Batch) -> None:
    Batch.objects.filter(id=batch.id).update(sent_at=Now())
    queue.send_batch(batch.id, host=batch.workspace.host)


def _created(batch: Batch) -> NewEvent:
    payload = {
        "total": batch.total,
        "strategy": batch.strategy,
        "max_parallel": batch.max_parallel,
        "engine": batch.engine,
        "origin": batch.origin,
    }
    return NewEvent(type=types.BATCH_CREATED, batch_id=batch.id, payload=payload)


def _record(
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


def _run_event(type: str, run: Run, payload: dict[str, Any]) -> NewEvent:
    return NewEvent(
        type=type,
        batch_id=run.batch_id,
        run_id=run.id,
        task_id=run.task_id,
        payload=payload,
    )
