"""The page of one batch, whole without any script, and the parts of it that are fetched again."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from batches.estimate import remaining, typical_in
from batches.models import Batch, GateRecord, Run, Stage
from batches.models.batch import RESUMABLE
from batches.models.run import LIVE, RunStatus
from batches.money import Money, spent_by_run
from batches.plan import dependency_edges
from batches.waiting import why_waiting
from batches.web.gantt import MOST_RUNS, STAGES_UP_TO, gantt
from batches.web.held import held_result
from batches.web.progress import segments
from batches.web.rows import batch_row
from batches.web.steering import offered
from costs.budgets import limits_of
from tasks.models import Blocker
from tasks.models.blocker import BlockerStatus
from tasks.web.live import stream_of
from tasks.web.paging import page_of
from tasks.web.rows import may_operate

RUNS_SHOWN = 100
QUESTIONS_SHOWN = 20
OWN_SAMPLE = 30
LIGHT = ("id", "batch_id", "task_id", "status", "started_at", "finished_at", "position", "attempt")


@require_safe
@login_required
def batch_page(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = batch_row(request, batch_id)
    stream = None
    if batch.is_active:
        stream = stream_of("batches", batch.id, workspace_id=batch.workspace_id)
        batch.refresh_from_db()
    now = timezone.now()
    rows = _last_runs(batch)
    state = request.GET.get("state", "").upper()
    if state in RunStatus.values:
        rows = rows.filter(status=state)
    page = page_of(rows, request, size=RUNS_SHOWN)
    context = {
        "page": page,
        "rows": _with_spent(page.rows),
        "state": state if state in RunStatus.values else "",
        "states": RunStatus.values,
        "stream": stream,
        **_questions(batch),
        **_base(request, batch, now),
        **_head(request, batch, now),
        **_timeline(batch, now),
        **_outcome(batch),
    }
    return render(request, "batches/batch.html", context)


@require_safe
@login_required
def batch_part(request: HttpRequest, batch_id: UUID, part: str) -> HttpResponse:
    batch = batch_row(request, batch_id)
    now = timezone.now()
    context = _base(request, batch, now)
    if part == "head":
        context |= _head(request, batch, now)
    elif part == "timeline":
        context |= _timeline(batch, now)
    elif part == "questions":
        context |= _questions(batch)
    else:
        context |= _outcome(batch)
    return render(request, f"batches/parts/{part}.html", context)


@require_safe
@login_required
def batch_task(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    """One row of the table: the last attempt of the task at that place."""
    batch = batch_row(request, batch_id)
    run = _last_runs(batch).filter(position=position).first()
    if run is None:
        raise Http404("There is no such task in this batch.")
    context = _base(request, batch, timezone.now()) | {"row": _with_spent([run])[0]}
    return render(request, "batches/parts/task.html", context)


def _base(request: HttpRequest, batch: Batch, now: datetime) -> dict[str, Any]:
    operate = may_operate(request, batch.workspace)
    return {
        "batch": batch,
        "workspace": batch.workspace,
        "now": now,
        "may_operate": operate,
        "may_retry": operate and batch.status in RESUMABLE,
    }


def _head(request: HttpRequest, batch: Batch, now: datetime) -> dict[str, Any]:
    live = list(Run.objects.filter(batch=batch, superseded=False, status__in=LIVE).only(*LIGHT))
    running = sum(run.status == RunStatus.RUNNING for run in live)
    context: dict[str, Any] = {
        "segments": segments(batch, running=running),
        "running": running,
        "ended": batch.total - len(live),
        **_money(batch),
        "verbs": offered(batch) if may_operate(request, batch.workspace) else [],
        "waiting": why_waiting(batch),
    }
    if batch.is_active:
        own = Run.objects.filter(batch=batch, status=RunStatus.COMPLETED).only(*LIGHT)
        typical = typical_in(batch, list(own.order_by("-finished_at")[:OWN_SAMPLE]))
        edges = dependency_edges(run.task_id for run in live if run.task_id)
        context["typical"] = typical
        context["estimate"] = remaining(batch, live, edges, typical=typical, now=now)
    return context


def _money(batch: Batch) -> dict[str, Any]:
    money = Money([batch])
    return {
        "spent": money.spent(batch),
        "pause": money.pause(batch),
        "limits": limits_of([batch.id]).get(batch.id, []),
    }


def _timeline(batch: Batch, now: datetime) -> dict[str, Any]:
    begun = Run.objects.filter(batch=batch, started_at__isnull=False).only(*LIGHT, "title")
    runs = list(begun.order_by("-started_at")[: MOST_RUNS + 1])
    stages: dict[UUID, list[Stage]] = {}
    if len(runs) <= STAGES_UP_TO:
        for stage in Stage.objects.filter(run__batch=batch).defer("detail").order_by("id"):
            stages.setdefault(stage.run_id, []).append(stage)
    edges = dependency_edges(run.task_id for run in runs if run.task_id)
    return {"gantt": gantt(runs, edges=edges, stages=stages, now=now)}


def _outcome(batch: Batch) -> dict[str, Any]:
    gates = GateRecord.objects.filter(batch=batch, run__isnull=True).order_by("id")
    return {"gates": gates, "held": held_result(batch)}


def _questions(batch: Batch) -> dict[str, Any]:
    """`here` is where an answer comes back to, also from a part that was fetched again."""
    rows = Blocker.objects.filter(status=BlockerStatus.OPEN, task__runs__batch=batch)
    return {
        "questions": rows.select_related("task").distinct()[:QUESTIONS_SHOWN],
        "questions_url": reverse("batch-questions", args=[batch.id]) if batch.is_active else "",
        "here": reverse("batch", args=[batch.id]),
    }


def _with_spent(runs: list[Run]) -> list[dict[str, Any]]:
    spent = spent_by_run(run.id for run in runs)
    return [{"run": run, "spent": spent.get(run.id)} for run in runs]


def _last_runs(batch: Batch) -> QuerySet[Run]:
    gates = GateRecord.objects.only("id", "run_id", "name", "outcome", "summary").order_by("id")
    return (
        Run.objects.filter(batch=batch, superseded=False)
        .order_by("position", "attempt")
        .defer("expected_gates", "agent_state")
        .prefetch_related(Prefetch("gate_records", gates))
    )
