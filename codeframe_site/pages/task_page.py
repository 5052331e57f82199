"""One task: what it says, what it waits for, what was asked, what ran and what it cost."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from batches.deletion import delete_task
from batches.models import Run
from batches.models.run import RunStatus
from costs.reports import cost_of_runs_of_task
from tasks.models import Blocker, Task, TaskDependency
from tasks.models.blocker import BlockerStatus
from tasks.models.membership import Role
from tasks.text import clip
from tasks.web.edit_pages import moves_offered
from tasks.web.live import stream_of
from tasks.web.rows import may, say, task_row

RUNS_SHOWN = 20
RELATED_SHOWN = 100
QUESTIONS_SHOWN = 20
LINKS = ("http://", "https://")


@require_safe
@login_required
def task_page(request: HttpRequest, task_id: UUID) -> HttpResponse:
    task = task_row(request, task_id)
    stream = stream_of("workspaces", task.workspace_id, workspace_id=task.workspace_id)
    context = (
        _context(request, task)
        | _related(task)
        | {
            "stream": stream,
            "link": task.external_url if task.external_url.startswith(LINKS) else "",
            "parts": Task.objects.filter(parent=task).only("id", "title", "status")[:RELATED_SHOWN],
        }
    )
    return render(request, "tasks/task.html", context)


@require_safe
@login_required
def task_part(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """What its own events change: state, questions, runs."""
    return render(request, "tasks/task_part.html", _context(request, task_row(request, task_id)))


@require_safe
@login_required
def task_edges(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """What other tasks' events change: the states of those before and after it."""
    task = task_row(request, task_id)
    context = {"task": task, "workspace": task.workspace} | _related(task)
    context["may_operate"] = may(request, task.workspace, Role.OPERATOR)
    return render(request, "tasks/task_edges.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """Names what goes; a POST deletes."""
    task = task_row(request, task_id, Role.OPERATOR)
    if request.method == "POST":
        done = say(request, lambda: _deleted(task))
        return redirect("workspace", task.workspace_id) if done else redirect("task", task.id)
    dependents = task.dependent_edges.count()
    context = {"workspace": task.workspace, "task": task, "dependents": dependents}
    return render(request, "tasks/delete.html", context)


def _deleted(task: Task) -> str:
    delete_task(task=task)
    return f"“{clip(task.title, 80)}” is deleted."


def _context(request: HttpRequest, task: Task) -> dict[str, Any]:
    may_operate = may(request, task.workspace, Role.OPERATOR)
    runs = Run.objects.filter(task=task).select_related("batch").order_by("-created_at")
    shown = list(runs.defer("expected_gates")[:RUNS_SHOWN])
    costs = cost_of_runs_of_task(task.id)
    questions = list(_questions(task)[:QUESTIONS_SHOWN])
    return {
        "task": task,
        "workspace": task.workspace,
        "may_operate": may_operate,
        "moves": moves_offered(task) if may_operate else [],
        "open": [b for b in questions if b.status == BlockerStatus.OPEN],
        "answered": [b for b in questions if b.status != BlockerStatus.OPEN],
        "runs": [(run, costs.get(run.id)) for run in shown],
        "running": next((run for run in shown if run.status == RunStatus.RUNNING), None),
        "cost": sum(costs.values()) if costs else None,
        "here": f"/tasks/{task.id}/",
    }


def _related(task: Task) -> dict[str, Any]:
    after = TaskDependency.objects.filter(task=task).order_by("id").select_related("depends_on")
    before = TaskDependency.objects.filter(depends_on=task).order_by("id").select_related("task")
    return {"after": after[:RELATED_SHOWN], "before": before[:RELATED_SHOWN]}


def _questions(task: Task) -> Any:
    """Open ones first."""
    return (
        Blocker.objects.filter(task=task).select_related("task").order_by("-status", "-created_at")
    )
