"""All workspaces one sees, each with its batch and its tasks by state."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Count, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batches.models import Batch
from batches.models.batch import ACTIVE
from tasks.access import visible_workspaces
from tasks.models import Blocker, Task, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus
from tasks.web.paging import page_of

WORKSPACES_SHOWN = 50

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
