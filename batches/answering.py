"""An answer sends its task on: into the batch that asked, when that has ended."""

from dataclasses import dataclass

from batches.errors import InvalidState, InvalidTasks, WorkspaceBusy
from batches.models import Batch, Run
from batches.models.batch import RESUMABLE
from batches.models.run import RunStatus
from batches.resuming import resume
from tasks.models import Blocker
from tasks.models.blocker import BlockerStatus


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
        return _not_now(f"batch {run.batch.short_id} is {run.batch.status}; resume it when it ends")
    skipped = Run.objects.filter(batch=run.batch, superseded=False, status=RunStatus.SKIPPED)
    names = {blocker.task_id, *skipped.values_list("task_id", flat=True)} - {None}
    try:
        resume(batch=run.batch, only=names, by=by)
    except (InvalidState, InvalidTasks, WorkspaceBusy) as error:
        return _not_now(error.message)
    return Resumption(batch=run.batch, message=f"batch {run.batch.short_id} goes on with it")


def _not_now(why: str) -> Resumption:
    return Resumption(batch=None, message=f"nothing was started: {why}")
