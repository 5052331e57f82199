"""Pages that join the apps: all workspaces, and one of them."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batches.models import Batch
from batches.models.batch import ACTIVE
from tasks.access import visible_workspaces
from tasks.models import Blocker, Task, TaskDependency, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus
from tasks.web.paging import page_of

WORKSPACES_SHOWN = 50
TASKS_SHOWN_PER_STATUS = 20
TASKS_SHOWN = 100
DEPENDENCIES_SHOWN = 5
BATCHES_SHOWN = 10

# What needs a person comes first.
ORDER = (
    TaskStatus.BLOCKED,
    TaskStatus.FAILED,
    TaskStatus.IN_PROGRESS,
    TaskStatus.READY,
    TaskStatus.BACKLOG,
    TaskStatus.DONE,
    TaskStatus.MERGED,
)

_FIELDS = ("id", "key", "title", "status", "priority", "workspace_id")


@dataclass(kw_only=True)
class TaskRow:
    """`after`: title and state of the first few tasks it waits for; there are `more`."""

    task: Task
    after: list[tuple[str, str]] = field(default_factory=list)
    more: int = 0


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    page = page_of(visible_workspaces(request.user), request, size=WORKSPACES_SHOWN)
    ids = [workspace.id for workspace in page.rows]
    batches = _newest_batches(ids) | _active_batches(ids)
    counts = _task_counts(ids)
    questions = _open_questions(ids)
    cards = [
        {
            "workspace": workspace,
            "batch": batches.get(workspace.id),
            "counts": counts[workspace.id],
            "questions": questions.get(workspace.id, 0),
        }
        for workspace in page.rows
    ]
    return render(request, "site/home.html", {"page": page, "cards": cards})


@require_safe
@login_required
def workspace_page(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = visible_workspaces(request.user).filter(id=workspace_id).first()
    if workspace is None:
        raise Http404(f"There is no workspace {workspace_id}.")
    context: dict[str, Any] = {
        "workspace": workspace,
        "questions": Blocker.objects.filter(
            task__workspace=workspace, status=BlockerStatus.OPEN
        ).select_related("task")[:TASKS_SHOWN_PER_STATUS],
    }
    chosen = request.GET.get("status", "").upper()
    if chosen in TaskStatus.values:
        return _one_status(request, workspace, TaskStatus(chosen), context)
    context |= {
        "groups": _groups(workspace, dict(_task_counts([workspace.id])[workspace.id])),
        "batches": workspace.batches.select_related("workspace")[:BATCHES_SHOWN],
    }
    return render(request, "tasks/workspace.html", context)


def _one_status(
    request: HttpRequest, workspace: Workspace, status: TaskStatus, context: dict[str, Any]
) -> HttpResponse:
    page = page_of(_tasks(workspace, status), request, size=TASKS_SHOWN)
    context |= {"page": page, "status": status, "tasks": _with_dependencies(page.rows)}
    return render(request, "tasks/status.html", context)


def _newest_batches(workspace_ids: list[UUID]) -> dict[UUID, Batch]:
    newest = Batch.objects.filter(workspace=OuterRef("pk")).order_by("-created_at").values("id")[:1]
    chosen = Workspace.objects.filter(id__in=workspace_ids).values_list(Subquery(newest))
    return {batch.workspace_id: batch for batch in Batch.objects.filter(id__in=chosen)}


def _active_batches(workspace_ids: list[UUID]) -> dict[UUID, Batch]:
    """At most one each; not always the newest, since an older one can be resumed."""
    rows = Batch.objects.filter(workspace__in=workspace_ids, status__in=ACTIVE)
    return {batch.workspace_id: batch for batch in rows}


def _task_counts(workspace_ids: list[UUID]) -> dict[UUID, list[tuple[str, int]]]:
    """Per workspace, its states in the order of the pages."""
    rows = (
        Task.objects.filter(workspace__in=workspace_ids)
        .order_by()
        .values_list("workspace_id", "status")
        .annotate(count=Count("id"))
    )
    found = {(workspace_id, status): count for workspace_id, status, count in rows}
    return {
        workspace_id: [(s, found[workspace_id, s]) for s in ORDER if (workspace_id, s) in found]
        for workspace_id in workspace_ids
    }


def _open_questions(workspace_ids: list[UUID]) -> dict[UUID, int]:
    rows = Blocker.objects.filter(task__workspace__in=workspace_ids, status=BlockerStatus.OPEN)
    counted = rows.order_by().values_list("task__workspace_id").annotate(count=Count("id"))
    return dict(counted)


def _groups(workspace: Workspace, counts: dict[str, int]) -> list[dict[str, Any]]:
    """The first tasks of each state. A query each, by the index: one for all would sort all."""
    found = {
        status: list(_tasks(workspace, status)[:TASKS_SHOWN_PER_STATUS])
        for status in ORDER
        if status in counts
    }
    rows = _with_dependencies([task for tasks in found.values() for task in tasks])
    return [
        {
            "status": status,
            "count": counts[status],
            "tasks": [row for row in rows if row.task.status == status],
            "more": counts[status] > TASKS_SHOWN_PER_STATUS,
        }
        for status in found
    ]


def _tasks(workspace: Workspace, status: TaskStatus) -> QuerySet[Task]:
    return Task.objects.filter(workspace=workspace, status=status).only(*_FIELDS)


def _with_dependencies(tasks: list[Task]) -> list[TaskRow]:
    edges = (
        TaskDependency.objects.filter(task__in=[task.id for task in tasks])
        .annotate(
            place=Window(RowNumber(), partition_by=F("task_id"), order_by="id"),
            count=Window(Count("id"), partition_by=F("task_id")),
        )
        .filter(place__lte=DEPENDENCIES_SHOWN)
        .values_list("task_id", "depends_on__title", "depends_on__status", "count")
    )
    rows = {task.id: TaskRow(task=task) for task in tasks}
    for task_id, title, status, count in edges:
        rows[task_id].after.append((title, status))
        rows[task_id].more = max(0, count - DEPENDENCIES_SHOWN)
    return list(rows.values())
