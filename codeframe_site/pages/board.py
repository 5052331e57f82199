"""A workspace's tasks: a board by state, or a list; what needs a person on top."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from batches.models import Batch, Run
from batches.models.batch import ACTIVE
from batches.models.run import RunStatus
from tasks.models import Blocker, Task, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.membership import Role
from tasks.models.task import TaskStatus
from tasks.web.columns import FIELDS, Column, TaskCard, cards_of, columns, status_counts
from tasks.web.filters import SORTS, VIEWS, TaskFilter
from tasks.web.live import stream_of
from tasks.web.paging import Page, page_of
from tasks.web.rows import may, workspace_row

TASKS_SHOWN = 100
QUESTIONS_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What only a person can move."""

    questions: list[Blocker]
    more_questions: bool
    failed: int
    held: Batch | None

    def __bool__(self) -> bool:
        return bool(self.questions or self.failed or self.held)


@require_safe
@login_required
def workspace_page(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id)
    stream = stream_of("workspaces", workspace.id, workspace_id=workspace.id)
    context = _context(request, workspace) | {
        "stream": stream,
        "sorts": [(name, words) for name, (words, _) in SORTS.items()],
        "views": VIEWS,
        "states": TaskStatus,
    }
    return render(request, "tasks/workspace.html", context)


@require_safe
@login_required
def tasks_part(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Board or list again, for a page that is open."""
    workspace = workspace_row(request, workspace_id)
    return render(request, "tasks/tasks_part.html", _context(request, workspace))


@require_safe
@login_required
def task_card(request: HttpRequest, workspace_id: UUID, task_id: UUID) -> HttpResponse:
    """One card again: its agent has said something."""
    workspace = workspace_row(request, workspace_id)
    rows = Task.objects.filter(workspace=workspace, id=task_id).only(*FIELDS)
    card = _with_runs(cards_of(list(rows)))
    context = {"card": card[0] if card else None, "may_operate": _may_operate(request, workspace)}
    template = "tasks/card.html"
    return render(
        request, template, context | {"workspace": workspace}, status=200 if card else 404
    )


def _context(request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
    wanted = TaskFilter.read(request.GET)
    context: dict[str, Any] = {
        "workspace": workspace,
        "filter": wanted,
        "may_operate": _may_operate(request, workspace),
        "batch": _shown_batch(workspace),
        "needs": needs_of(workspace),
        # A part of a page is no page to come back to.
        "here": f"{reverse('workspace', args=[workspace.id])}?{wanted.address()}",
    }
    if wanted.view == "board":
        found = _columns(workspace, wanted)
        empty = not wanted.narrows and not any(column.count for column in found)
        return context | {"columns": found, "first_visit": empty}
    page, cards, total = _list(request, workspace, wanted)
    empty = not wanted.narrows and not total
    return context | {"page": page, "cards": cards, "total": total, "first_visit": empty}


def _columns(workspace: Workspace, wanted: TaskFilter) -> list[Column]:
    found = columns(workspace, wanted)
    _with_runs([card for column in found for card in column.cards])
    return found


def _list(
    request: HttpRequest, workspace: Workspace, wanted: TaskFilter
) -> tuple[Page[Task], list[TaskCard], int]:
    rows = wanted.apply(Task.objects.filter(workspace=workspace))
    counts = status_counts(rows)
    if wanted.statuses:
        rows = rows.filter(status__in=wanted.statuses)
        counts = {status: counts.get(status, 0) for status in wanted.statuses}
    page = page_of(rows.only(*FIELDS).order_by(*wanted.order), request, size=TASKS_SHOWN)
    return page, _with_runs(cards_of(page.rows)), sum(counts.values())


def _with_runs(cards: list[TaskCard]) -> list[TaskCard]:
    """The runs under way, of which a task has at most one."""
    running = Run.objects.filter(
        task__in=[c.task.id for c in cards if c.task.status == TaskStatus.IN_PROGRESS],
        status=RunStatus.RUNNING,
    ).select_related("batch")
    runs = {run.task_id: run for run in running}
    for card in cards:
        card.run = runs.get(card.task.id)
    return cards


def needs_of(workspace: Workspace) -> Needs:
    rows = Blocker.objects.filter(task__workspace=workspace, status=BlockerStatus.OPEN)
    questions = list(rows.select_related("task")[: QUESTIONS_SHOWN + 1])
    newest = workspace.batches.exclude(status__in=ACTIVE).first()
    return Needs(
        questions=questions[:QUESTIONS_SHOWN],
        more_questions=len(questions) > QUESTIONS_SHOWN,
        failed=Task.objects.filter(workspace=workspace, status=TaskStatus.FAILED).count(),
        held=newest if newest and newest.landing == "held" else None,
    )


def _shown_batch(workspace: Workspace) -> Batch | None:
    """The active one; else the newest."""
    active = Batch.objects.filter(workspace=workspace, status__in=ACTIVE).first()
    return active or Batch.objects.filter(workspace=workspace).first()


def _may_operate(request: HttpRequest, workspace: Workspace) -> bool:
    return may(request, workspace, Role.OPERATOR)
