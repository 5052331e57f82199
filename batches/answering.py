"""An answer sends its task on: into the batch that asked, at once or when that has ended."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from batches.errors import InvalidState, InvalidTasks, WorkspaceBusy
from batches.models import Batch, Run
from batches.models.batch import RESUMABLE, BatchStatus
from batches.models.run import RunStatus
from batches.resuming import resume
from tasks.models import Blocker
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Resumption:
    """`batch` goes on with the task; without one, `message` says why not."""

    batch: Batch | None
    message: str


def send_on(*, blocker: Blocker, by: str) -> Resumption:
    """Does the task again, and what was skipped because it could not be done.

    Never raises for what stands in the way: the answer stays, and the task is READY.
    """
    runs = Run.objects.filter(task_id=blocker.task_id, superseded=False)
    run = runs.select_related("batch__workspace").order_by("-created_at").first()
    if run is None or run.status != RunStatus.BLOCKED:
        return _not_now("no blocked run waits for it")
    if Blocker.objects.filter(task_id=blocker.task_id, status=BlockerStatus.OPEN).exists():
        return _not_now("another question of this task is open")
    if run.batch.status not in RESUMABLE:
        return _later(run.batch)
    try:
        resume(batch=run.batch, only=_with_skipped(run.batch, [blocker.task_id]), by=by)
    except (InvalidState, InvalidTasks, WorkspaceBusy) as error:
        return _not_now(error.message)
    return Resumption(batch=run.batch, message=f"batch {run.batch.short_id} goes on with it")


def resume_answered(batch_id: UUID, *, reserve_for: str) -> bool:
    """A batch that has ended goes on with what was answered while it ran; False when nothing was.

    Not one that a person has stopped. Sends nothing: `reserve_for` takes it up.
    """
    ended = (BatchStatus.PARTIAL, BatchStatus.FAILED)
    rows = Batch.objects.select_related("workspace")
    batch = rows.filter(id=batch_id, status__in=ended, stop_mode="").first()
    if batch is None:
        return False
    blocked = Run.objects.filter(batch=batch, superseded=False, status=RunStatus.BLOCKED)
    answered = blocked.filter(task__status=TaskStatus.READY).exclude(
        task__blockers__status=BlockerStatus.OPEN
    )
    tasks = list(answered.values_list("task_id", flat=True))
    if not tasks:
        return False
    try:
        resume(
            batch=batch,
            only=_with_skipped(batch, tasks),
            by="answers",
            send=False,
            reserve_for=reserve_for,
        )
    except (InvalidState, InvalidTasks, WorkspaceBusy) as error:
        log.info("batch %s does not go on with its answers: %s", batch.short_id, error.message)
        return False
    return True


def _with_skipped(batch: Batch, task_ids: Iterable[UUID | None]) -> set[UUID]:
    """What was skipped because these could not be done is done too."""
    skipped = Run.objects.filter(batch=batch, superseded=False, status=RunStatus.SKIPPED)
    names = {*task_ids, *skipped.values_list("task_id", flat=True)}
    return {name for name in names if name}


def _later(batch: Batch) -> Resumption:
    """The queue's conductor looks for answers at a batch's end; one in a terminal does not."""
    if batch.is_active and batch.sent_at and not batch.stop_mode:
        return _not_now(f"batch {batch.short_id} goes on with it when the rest has ended")
    return _not_now(f"batch {batch.short_id} is {batch.status}; resume it when it ends")


def _not_now(why: str) -> Resumption:
    return Resumption(batch=None, message=f"nothing was started: {why}")
