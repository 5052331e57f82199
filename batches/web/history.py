"""The history of batches, by workspace and outcome."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batches.models import Batch
from batches.models.batch import BatchStatus, Verification
from batches.web.looking_up import asked_workspace, may_operate
from tasks.access import visible_workspaces
from tasks.text import clip
from tasks.web.cursors import newest_first

BATCHES_SHOWN = 50
WORKSPACES_OFFERED = 200
MAX_ENGINE = 100


@require_safe
@login_required
def batch_list(request: HttpRequest) -> HttpResponse:
    workspace = asked_workspace(request)
    seen = visible_workspaces(request.user)
    rows = Batch.objects.filter(workspace__in=[workspace.id] if workspace else seen)
    chosen = {
        "status": _one_of(request, "status", BatchStatus.values),
        "verification": _one_of(request, "verification", Verification.values),
        "engine": clip(request.GET.get("engine", "").strip().replace("\0", ""), MAX_ENGINE),
    }
    wanted = {name: value for name, value in chosen.items() if value}
    page = newest_first(
        rows.filter(**wanted).select_related("workspace"), request, size=BATCHES_SHOWN
    )
    context = {
        "page": page,
        "workspace": workspace,
        "workspaces": seen.only("id", "name")[:WORKSPACES_OFFERED],
        "chosen": chosen,
        "filtered": bool(wanted),
        "may_operate": workspace is not None and may_operate(request, workspace),
        "statuses": BatchStatus.values,
        "verifications": Verification.values,
    }
    return render(request, "batches/list.html", context)


def _one_of(request: HttpRequest, name: str, values: list[str]) -> str:
    """What is no value is no filter."""
    text = request.GET.get(name, "")
    return text if text in values else ""
