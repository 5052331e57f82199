"""Starting a batch: every option, the plan, and what it will take, before anything is made."""

from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from batches import lifecycle
from batches.admission import Admission, admit
from batches.engine_list import EngineInfo, engines
from batches.errors import InvalidOptions, WorkspaceBusy
from batches.estimate import Estimate, Typical, planned, typical_of
from batches.models import Batch
from batches.models.batch import ACTIVE, Isolation, Land, OnFailure, Strategy
from batches.options import BatchOptions
from batches.web.start_form import StartForm, defaults
from batches.web.start_plan import StartPlan, start_plan
from tasks.errors import DomainError
from tasks.models import Workspace
from tasks.models.membership import Role
from tasks.web.rows import workspace_row

STARTED = "started_batches"
KEYS_KEPT = 20
KEY_LENGTH = 32


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def start_page(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """A POST without `action=start` only draws the plan anew."""
    workspace = workspace_row(request, workspace_id, Role.OPERATOR)
    data = request.POST if request.method == "POST" else request.GET
    form = StartForm.read(data)
    known = engines()
    if not form.values["engine"]:
        form.values["engine"] = _first_engine(workspace, known)
    starts = request.method == "POST" and data.get("action") == "start"
    if starts and (batch_id := _started_before(request, data)):
        return redirect("batch", batch_id=batch_id)
    plan = start_plan(workspace, chosen=form.chosen, added=form.added, dropped=form.dropped)
    admission = _admitted(workspace, form, plan)
    if starts and admission is not None:
        batch = _start(request, form, plan, admission)
        if batch is not None:
            return redirect("batch", batch_id=batch.id)
    context = _context(workspace, form, plan, known, data)
    return render(request, "batches/start.html", context, status=422 if starts else 200)


def _start(
    request: HttpRequest, form: StartForm, plan: StartPlan, admission: Admission
) -> Batch | None:
    """None when it is refused; the form then says why."""
    try:
        batch = lifecycle.create_batch(
            admission=admission, origin="page", created_by=request.user.get_username()
        )
    except WorkspaceBusy:
        return None  # the page names the batch that is active, with a link
    except DomainError as error:
        form.errors.setdefault("", []).append(error.message)
        return None
    _remember(request, batch)
    messages.success(request, f"Batch {batch.short_id} was made.")
    return batch


def _admitted(workspace: Workspace, form: StartForm, plan: StartPlan) -> Admission | None:
    """None when something is wrong; the form then says what."""
    options = form.options()
    if options is None:
        return None
    narrowed = form.chosen or form.added or form.dropped
    ids = [task.id for task in plan.tasks] if narrowed else None
    try:
        return admit(workspace=workspace, options=options, task_ids=ids)
    except InvalidOptions as error:
        form.refuse(error)
    except DomainError as error:
        form.errors.setdefault("", []).append(error.message)
    return None


def _context(
    workspace: Workspace,
    form: StartForm,
    plan: StartPlan,
    known: list[EngineInfo],
    data: QueryDict,
) -> dict[str, Any]:
    typical, of_engine = _typical(workspace, form.values["engine"])
    return {
        "workspace": workspace,
        "form": form,
        "own_errors": form.errors.get("", []),
        "plan": plan,
        "engines": [info for info in known if info.usable],
        "broken": [info for info in known if not info.usable],
        "busy": Batch.objects.filter(workspace=workspace, status__in=ACTIVE).first(),
        "typical": typical,
        "of_engine": of_engine,
        "estimate": _estimate(plan, form, typical),
        "defaults": defaults(),
        "strategies": [Strategy.PARALLEL, Strategy.SERIAL],
        "on_failures": OnFailure,
        "isolations": Isolation,
        "lands": Land,
        "key": data.get("key", "")[:KEY_LENGTH] or uuid4().hex,
    }


def _typical(workspace: Workspace, engine: str) -> tuple[Typical, bool]:
    """Of the engine where it has run here before, else of any; and which of the two."""
    found = typical_of(workspace, engine) if engine else Typical()
    return (found, True) if found.runs else (typical_of(workspace), False)


def _estimate(plan: StartPlan, form: StartForm, typical: Typical) -> Estimate | None:
    if not plan.tasks or plan.cycle:
        return None
    options = _options_or_default(form)
    return planned(plan.graph, agents=options.fields()["max_parallel"], typical=typical)


def _options_or_default(form: StartForm) -> BatchOptions:
    return StartForm(values=dict(form.values)).options() or BatchOptions()


def _first_engine(workspace: Workspace, known: list[EngineInfo]) -> str:
    """The one used here last, if it works; else the first that does."""
    names = [info.name for info in known if info.usable]
    last = Batch.objects.filter(workspace=workspace, engine__in=names).order_by("-created_at")
    used = last.values_list("engine", flat=True).first()
    return used or next(iter(names), "")


# -- a form that is sent twice ---------------------------------------------------------------------


def _started_before(request: HttpRequest, data: QueryDict) -> str:
    """The batch that this very form has started already; empty when it has not."""
    known: dict[str, str] = request.session.get(STARTED, {})
    return known.get(data.get("key", "")[:KEY_LENGTH], "")


def _remember(request: HttpRequest, batch: Batch) -> None:
    key = request.POST.get("key", "")[:KEY_LENGTH]
    known: dict[str, str] = request.session.get(STARTED, {})
    if key:
        kept = [*known.items(), (key, str(batch.id))][-KEYS_KEPT:]
        request.session[STARTED] = dict(kept)
