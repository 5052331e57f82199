"""What is done with many ticked tasks at once."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from batches.deletion import delete_task
from codeframe_site.back import back
from tasks.errors import DomainError
from tasks.lifecycle import move_tasks
from tasks.models import Task, Workspace
from tasks.models.membership import Role
from tasks.models.task import TaskStatus
from tasks.text import plural
from tasks.web.rows import workspace_row

MOST = 200
"""As many as two pages of a list show; more would hold the browser too long."""
MOVES = {"ready": TaskStatus.READY, "backlog": TaskStatus.BACKLOG}


@require_POST
@login_required
def act(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id, Role.OPERATOR)
    action = request.POST.get("action", "")
    tasks = _ticked(request, workspace)
    if not tasks:
        messages.error(request, "No task is ticked.")
    elif len(tasks) > MOST:
        messages.error(request, f"Tick at most {MOST} tasks at once.")
    elif action in MOVES:
        _move(request, workspace, tasks, MOVES[action])
    elif action == "delete" and "confirmed" not in request.POST:
        context = {"workspace": workspace, "tasks": tasks, "next": request.POST.get("next", "")}
        return render(request, "tasks/delete_many.html", context)
    elif action == "delete":
        _delete(request, tasks)
    return back(request, reverse("workspace", args=[workspace.id]))


def _ticked(request: HttpRequest, workspace: Workspace) -> list[Task]:
    ids = [found for text in request.POST.getlist("task") if (found := _uuid(text))]
    rows = Task.objects.filter(workspace=workspace, id__in=ids[: MOST + 1])
    return list(rows.only("id", "title", "status", "workspace_id"))


def _move(
    request: HttpRequest, workspace: Workspace, tasks: Sequence[Task], to: TaskStatus
) -> None:
    moved = move_tasks(
        workspace=workspace, task_ids=[task.id for task in tasks], to=to, why="set by hand"
    )
    if moved:
        messages.success(request, f"{plural(moved, 'task')} made {to.label.lower()}.")
    if left := len(tasks) - moved:
        messages.warning(
            request, f"{plural(left, 'task')} cannot become {to.label.lower()} from its state."
        )


def _delete(request: HttpRequest, tasks: Sequence[Task]) -> None:
    deleted, refused = 0, []
    for task in tasks:
        try:
            delete_task(task=task)
            deleted += 1
        except DomainError as error:
            refused.append(error.message)
    if deleted:
        messages.success(request, f"{plural(deleted, 'task')} deleted.")
    for sentence in refused[:5]:
        messages.error(request, sentence)
    if len(refused) > 5:
        messages.error(request, f"{len(refused) - 5} more were refused.")


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
