"""Where the money of a workspace went: by day, agent, model, task and batch; and its caps."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from batches.models import Batch
from costs import budgets, plots, reports
from costs.ledger import Account
from costs.periods import Range, last_days
from tasks.access import visible_workspaces
from tasks.api.cost_range import DEFAULT_DAYS, asked_range
from tasks.errors import ValidationFailed
from tasks.models import Task, Workspace

CHOICES = (1, 7, 30, 90, 365)
TOP = 10
MOST_WORKSPACES = 200


@require_safe
@login_required
def costs_page(request: HttpRequest) -> HttpResponse:
    workspaces = list(visible_workspaces(request.user)[:MOST_WORKSPACES])
    workspace = _chosen(request, workspaces)
    context: dict[str, Any] = {"workspaces": workspaces, "workspace": workspace}
    if workspace is not None:
        range, problem = _range(request, workspace)
        context |= _figures(workspace, range)
        context |= {"range": range, "problem": problem, "choices": CHOICES, "query": _query(range)}
    return render(
        request, "costs/costs.html", context, status=422 if context.get("problem") else 200
    )


def _chosen(request: HttpRequest, workspaces: list[Workspace]) -> Workspace | None:
    """What one may not see is 404, whether it exists or not."""
    text = request.GET.get("workspace", "")
    if not text:
        return workspaces[0] if workspaces else None
    try:
        wanted = UUID(text)
    except ValueError:
        raise Http404 from None
    found = visible_workspaces(request.user).filter(id=wanted).first()
    if found is None:
        raise Http404
    return found


def _range(request: HttpRequest, workspace: Workspace) -> tuple[Range, str]:
    """A range that cannot be is said on the page, which shows the usual one."""
    try:
        return asked_range(Request(request), workspace.time_zone), ""
    except ValidationFailed as refused:
        return last_days(DEFAULT_DAYS, workspace.time_zone), str(refused)


def _query(range: Range) -> str:
    return f"from={range.first}&to={range.last}"


def _figures(workspace: Workspace, range: Range) -> dict[str, Any]:
    totals = reports.totals(workspace.id, range)
    by_day = reports.by_day(workspace.id, range)
    usd = {(row["day"], row["agent"]): row["total_cost_usd"] for row in by_day}
    account = Account(workspace_id=workspace.id, time_zone=workspace.time_zone)
    return {
        "totals": totals,
        "change": _change(totals["cost"], reports.totals(workspace.id, range.before())["cost"]),
        "plot": plots.stacked(list(range), usd),
        "by_day": by_day,
        "split": plots.split(_kinds(totals)),
        "tasks": _tasks(workspace.id, range),
        "agents": reports.by("agent", workspace.id, range, limit=TOP),
        "models": reports.by("model", workspace.id, range, limit=TOP),
        "batches": _batches(workspace.id, range),
        "caps": budgets.caps_of(account),
    }


def _kinds(totals: dict[str, Any]) -> dict[str, int]:
    return {
        "fresh input": totals["input_tokens"],
        "cache read": totals["cache_read_tokens"],
        "cache write": totals["cache_write_tokens"],
        "output": totals["output_tokens"],
    }


@dataclass(frozen=True, kw_only=True)
class Change:
    before: Decimal
    difference: Decimal
    percent: int | None
    """None where there was nothing before."""


def _change(now: Decimal, before: Decimal) -> Change:
    percent = int(100 * (now - before) / before) if before else None
    return Change(before=before, difference=abs(now - before), percent=percent)


def _tasks(workspace_id: UUID, range: Range) -> list[dict[str, Any]]:
    rows = reports.by("task_id", workspace_id, range, limit=TOP)
    titles = dict(
        Task.objects.filter(id__in=[row["task_id"] for row in rows]).values_list("id", "title")
    )
    most = max((row["total_cost_usd"] for row in rows), default=Decimal(0))
    for row in rows:
        row["title"] = titles.get(row["task_id"])
        row["share"] = round(float(row["total_cost_usd"] / most) * 100, 2) if most else 0
    return rows


def _batches(workspace_id: UUID, range: Range) -> list[dict[str, Any]]:
    rows = reports.by("batch_id", workspace_id, range, limit=TOP)
    found = Batch.objects.in_bulk([row["batch_id"] for row in rows])
    return [row | {"batch": found.get(row["batch_id"])} for row in rows]
