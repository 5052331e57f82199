"""A batch begins, is claimed, or begins again."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from batches.admission import Admission
from batches.caps import set_caps
from batches.errors import InvalidState, WorkspaceBusy
from batches.lease import Lease, lease_end
from batches.lifecycle.moves import (
    COUNTERS,
    move_batch,
    record_for,
)
from batches.models import Batch, Run, Stage
from batches.models.batch import ACTIVE, RESUMABLE, BatchStatus
from batches.models.run import RunStatus
from batches.models.stage import StageOutcome
from batches.options import BatchOptions
from batches.providers import provider_of
from tasks import queue
from tasks.bulk import insert_rows
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.lifecycle import shift_tasks
from tasks.models import Workspace
from tasks.models.task import TaskStatus

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
                config=admission.config,
                lease_owner=reserve_for,
                lease_expires_at=lease_end() if reserve_for else None,
                provider=_provider(admission.options),
                **admission.options.fields(),
            )
            set_caps(batch, admission.options)
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
            record(workspace_id=workspace.id, events=[_created(batch), *_ignored(batch), *events])
    except IntegrityError as error:
        # SQLite has no row locks: there the constraint alone says who came first.
        refuse_when_busy(admission.workspace_id)
        raise error
    return batch


def _ignored(batch: Batch) -> list[NewEvent]:
    """A file that is there and does not hold is not passed over in silence."""
    file = batch.config.get("file", {})
    if file.get("state") not in ("untrusted", "invalid"):
        return []
    payload = {"why": file["state"], "digest": file["digest"], "problem": file["problem"]}
    return [NewEvent(type=types.BATCH_CONFIG_IGNORED, batch_id=batch.id, payload=payload)]


def _provider(options: BatchOptions) -> str:
    return provider_of(options.engine, options.engine_options, options.model)


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
        record_for(batch, event, {"owner": owner, "round": batch.round})
    return Lease(
        batch_id=batch_id, workspace_id=batch.workspace_id, owner=owner, fence=batch.fence + 1
    )


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
        record_for(batch, types.BATCH_RESUMED, payload, also=events)
    batch.refresh_from_db()
    return batch


def _interrupt_stages(batch_id: UUID) -> None:
    """What the owner before had under way; stages that look at it anew have rows of their own."""
    Stage.objects.filter(run__batch_id=batch_id, ended_at=None).update(
        ended_at=timezone.now(), outcome=StageOutcome.INTERRUPTED, detail="its worker went away"
    )


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
    move_batch(batch, BatchStatus.PENDING, changes=changes)


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
