"""What the buttons of batches and runs do; each posts, and comes back with one sentence."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from batches import lifecycle
from batches.errors import InvalidTasks
from batches.models import Batch, Run
from batches.models.batch import RESUMABLE, BatchStatus, StopMode
from batches.resuming import resume
from batches.web.rows import batch_row, run_row
from tasks.access import require_role
from tasks.errors import DomainError
from tasks.models.membership import Role


@require_POST
@login_required
def steer_batch(request: HttpRequest, batch_id: UUID, verb: str) -> HttpResponseRedirect:
    batch = batch_row(request, batch_id)
    _say_outcome(request, batch, lambda by: STEERS[verb](batch, by))
    return redirect("batch", batch_id=batch.id)


@require_POST
@login_required
def stop_run(request: HttpRequest, run_id: UUID) -> HttpResponseRedirect:
    run = run_row(request, run_id)
    _say_outcome(request, run.batch, lambda by: _stop_run(run, by))
    return redirect("run", run_id=run.id)


@require_POST
@login_required
def retry_run(request: HttpRequest, run_id: UUID) -> HttpResponseRedirect:
    """Goes to the batch, where the new attempt is."""
    run = run_row(request, run_id)
    _say_outcome(request, run.batch, lambda by: _retry(run, by))
    return redirect("batch", batch_id=run.batch_id)


def offered(batch: Batch) -> list[str]:
    """The buttons that make sense now; the lifecycle decides again when one is pressed."""
    if batch.status in RESUMABLE:
        return ["resume"]
    if batch.status == BatchStatus.CANCELLING:
        return ["cancel"] if batch.stop_mode == StopMode.STOP else []
    return ["stop", "cancel"] if batch.is_active else []


def _say_outcome(request: HttpRequest, batch: Batch, act: Callable[[str], str]) -> None:
    try:
        require_role(request.user, batch.workspace, Role.OPERATOR)
        messages.success(request, act(request.user.get_username()))
    except DomainError as error:
        messages.error(request, error.message)


def _stop(batch: Batch, by: str) -> str:
    after = lifecycle.cancel_batch(
        batch_id=batch.id, mode=StopMode.STOP, reason=f"stopped by {by} on the page"
    )
    return f"Batch {after.short_id} was told to stop: what runs is finished, no more starts."


def _cancel(batch: Batch, by: str) -> str:
    after = lifecycle.cancel_batch(
        batch_id=batch.id, mode=StopMode.CANCEL, reason=f"cancelled by {by} on the page"
    )
    return f"Batch {after.short_id} was told to cancel: work done so far is kept."


def _resume(batch: Batch, by: str) -> str:
    after = resume(batch=batch, by=by)
    return f"Batch {after.short_id} was resumed: what did not complete is run again."


def _stop_run(run: Run, by: str) -> str:
    lifecycle.stop_run(run=run, by=by)
    return f"Run {run.short_id} was told to stop; its batch goes on."


def _retry(run: Run, by: str) -> str:
    if run.task_id is None:
        raise InvalidTasks("its task was deleted, so there is nothing to run again")
    after = resume(batch=run.batch, only=[run.task_id], by=by)
    return f"Batch {after.short_id} was resumed: it does this task again."


STEERS: dict[str, Callable[[Batch, str], str]] = {
    "stop": _stop,
    "cancel": _cancel,
    "resume": _resume,
}
