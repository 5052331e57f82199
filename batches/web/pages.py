"""Pages of batches and runs, whole without any script; buttons post and come back."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from batches import lifecycle
from batches.models import Batch, GateRecord, Run, Stage
from batches.models.batch import RESUMABLE, BatchStatus, StopMode
from batches.models.run import RunStatus
from batches.resuming import resume
from batches.terminal.plain import describe
from batches.web import artefacts
from batches.web.progress import segments
from batches.web.timeline import timeline
from tasks.access import require_role, visible_workspaces
from tasks.errors import DomainError
from tasks.events import types
from tasks.models import Event, Workspace
from tasks.models.membership import Role
from tasks.web.paging import page_of

BATCHES_SHOWN = 50
RUNS_SHOWN = 100
EVENTS_SHOWN = 50
FINDINGS_SHOWN = 100


@require_safe
@login_required
def batch_list(request: HttpRequest) -> HttpResponse:
    workspace = _workspace(request)
    seen = visible_workspaces(request.user)
    rows = Batch.objects.filter(workspace__in=[workspace.id] if workspace else seen)
    rows = rows.select_related("workspace")
    page = page_of(rows, request, size=BATCHES_SHOWN)
    return render(request, "batches/list.html", {"page": page, "workspace": workspace})


@require_safe
@login_required
def batch_page(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = _batch(request, batch_id)
    page = page_of(_last_runs(batch), request, size=RUNS_SHOWN)
    running = Run.objects.filter(batch=batch, status=RunStatus.RUNNING).count()
    now = timezone.now()
    context = {
        "batch": batch,
        "page": page,
        "segments": segments(batch, running=running),
        "timeline": timeline(page.rows, now=now),
        "gates": GateRecord.objects.filter(batch=batch, run__isnull=True).order_by("id"),
        "verbs": _offered(batch) if _may_steer(request, batch) else [],
        "now": now,
    }
    return render(request, "batches/batch.html", context)


@require_safe
@login_required
def run_page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    run = _run(request, run_id)
    page = page_of(_events(run), request, size=EVENTS_SHOWN)
    stages = list(run.stages.order_by("id"))
    context = {
        "run": run,
        "batch": run.batch,
        "stages": stages,
        "vetted": any(stage.name == "vet" and stage.outcome for stage in stages),
        "gates": run.gate_records.order_by("id"),
        "findings": run.findings.order_by("id")[:FINDINGS_SHOWN],
        "attempts": _attempts(run),
        "outputs": artefacts.outputs(run),
        "patch": artefacts.patch(run),
        "page": page,
        "events": [(event, describe(event) or event.type) for event in page.rows],
        "may_stop": run.status == RunStatus.RUNNING and _may_steer(request, run.batch),
        "now": timezone.now(),
    }
    return render(request, "batches/run.html", context)


@require_POST
@login_required
def steer_batch(request: HttpRequest, batch_id: UUID, verb: str) -> HttpResponseRedirect:
    batch = _batch(request, batch_id)
    _say_outcome(request, batch, lambda by: STEERS[verb](batch, by))
    return redirect("batch", batch_id=batch.id)


@require_POST
@login_required
def stop_run(request: HttpRequest, run_id: UUID) -> HttpResponseRedirect:
    run = _run(request, run_id)
    _say_outcome(request, run.batch, lambda by: _stop_run(run, by))
    return redirect("run", run_id=run.id)


# -- what the buttons do -------------------------------------------------------------------------


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
    return f"Batch {after.short_id} is {after.status}: what runs is finished, no more starts."


def _cancel(batch: Batch, by: str) -> str:
    after = lifecycle.cancel_batch(
        batch_id=batch.id, mode=StopMode.CANCEL, reason=f"cancelled by {by} on the page"
    )
    return f"Batch {after.short_id} is {after.status}: work done so far is kept."


def _resume(batch: Batch, by: str) -> str:
    after = resume(batch=batch, by=by)
    return f"Batch {after.short_id} is {after.status}: what did not complete is run again."


def _stop_run(run: Run, by: str) -> str:
    lifecycle.stop_run(run=run, by=by)
    return f"Run {run.short_id} is told to stop; its batch goes on."


STEERS: dict[str, Callable[[Batch, str], str]] = {
    "stop": _stop,
    "cancel": _cancel,
    "resume": _resume,
}


def _offered(batch: Batch) -> list[str]:
    """The buttons that make sense now; the lifecycle decides again when one is pressed."""
    if batch.status in RESUMABLE:
        return ["resume"]
    if batch.status == BatchStatus.CANCELLING:
        return ["cancel"] if batch.stop_mode == StopMode.STOP else []
    return ["stop", "cancel"] if batch.is_active else []


# -- rows ----------------------------------------------------------------------------------------


def _workspace(request: HttpRequest) -> Workspace | None:
    """The one to show batches of; None when none is asked for."""
    text = request.GET.get("workspace", "")
    if not text:
        return None
    try:
        return visible_workspaces(request.user).get(id=UUID(text))
    except (ValueError, Workspace.DoesNotExist):
        raise Http404("There is no such workspace.") from None


def _batch(request: HttpRequest, batch_id: UUID) -> Batch:
    rows = Batch.objects.filter(workspace__in=visible_workspaces(request.user))
    batch = rows.select_related("workspace").filter(id=batch_id).first()
    if batch is None:
        raise Http404(f"There is no batch {batch_id}.")
    return batch


def _run(request: HttpRequest, run_id: UUID) -> Run:
    rows = Run.objects.filter(batch__workspace__in=visible_workspaces(request.user))
    run = rows.select_related("batch__workspace").filter(id=run_id).first()
    if run is None:
        raise Http404(f"There is no run {run_id}.")
    return run


def _may_steer(request: HttpRequest, batch: Batch) -> bool:
    try:
        require_role(request.user, batch.workspace, Role.OPERATOR)
    except DomainError:
        return False
    return True


def _last_runs(batch: Batch) -> QuerySet[Run]:
    gates = GateRecord.objects.only("id", "run_id", "name", "outcome", "summary").order_by("id")
    stages = Stage.objects.defer("detail").order_by("id")
    return (
        Run.objects.filter(batch=batch, superseded=False)
        .defer("agent_state")
        .order_by("position", "attempt")
        .defer("expected_gates")
        .prefetch_related(Prefetch("gate_records", gates), Prefetch("stages", stages))
    )


def _attempts(run: Run) -> QuerySet[Run, Any]:
    """Every attempt of its task in its batch, this one too."""
    return (
        Run.objects.filter(batch_id=run.batch_id, position=run.position)
        .only("id", "attempt", "status", "reason")
        .order_by("attempt")
    )


def _events(run: Run) -> QuerySet[Event]:
    """Newest first. Output is shown as such, so its events are left out."""
    return Event.objects.filter(run_id=run.id).exclude(type=types.RUN_OUTPUT).order_by("-seq")
