"""The page of one run: what happened, stage by stage, and a tab for each kind of evidence."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from batches import paths
from batches.models import Run
from batches.models.run import LIVE, RunStatus
from batches.shown import mask_text
from batches.web.activity import items_of
from batches.web.command_line import started_with
from batches.web.diff.reading import read_changes
from batches.web.events_page import shown_events
from batches.web.looking_up import may_operate, run_row
from batches.web.output.views import output_context
from batches.web.remedies import remedy
from batches.web.run_timeline import steps
from costs.totals import by_model, totals_of_runs
from tasks.events import types
from tasks.models import Blocker, Event
from tasks.models.blocker import BlockerStatus
from tasks.web.cursors import by_number
from tasks.web.live import stream_of

EVENTS_SHOWN = 100
PIECES_SHOWN = 60
"""Events of output on one page of activity: half a minute of a busy agent."""
FINDINGS_SHOWN = 200
QUESTIONS_SHOWN = 20
PLAIN_ENGINE = "command"
"""It prints for people; the others tell what they do item by item."""
MOST_FILES = 100_000
PROMPT_SHOWN = 64 * 1024


@require_safe
@login_required
def run_page(request: HttpRequest, run_id: UUID, tab: str = "output") -> HttpResponse:
    run = run_row(request, run_id)
    stream = None
    if run.status in LIVE:
        stream = stream_of("runs", run.id, workspace_id=run.batch.workspace_id)
        run.refresh_from_db()
    context = _head(request, run, timezone.now()) | _questions(run) | TABS[tab](request, run)
    context |= {"tab": tab, "stream": stream}
    return render(request, f"batches/run/{tab}.html", context)


@require_safe
@login_required
def run_part(request: HttpRequest, run_id: UUID, part: str) -> HttpResponse:
    run = run_row(request, run_id)
    if part == "head":
        context = _head(request, run, timezone.now())
    elif part == "questions":
        operate = may_operate(request, run.batch.workspace)
        context = {"run": run, "may_operate": operate} | _questions(run)
    else:
        context = {"run": run, "batch": run.batch} | TABS[part](request, run)
    return render(request, f"batches/run/parts/{part}.html", context)


def _head(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    stages = list(run.stages.order_by("id"))
    operate = may_operate(request, run.batch.workspace)
    live = run.status in LIVE
    return {
        "run": run,
        "batch": run.batch,
        "workspace": run.batch.workspace,
        "now": now,
        "live": live,
        "steps": steps(stages, live=live, now=now),
        "attempts": _attempts(run),
        "usage": totals_of_runs([run.id]).get(run.id),
        "remedy": remedy(run, may_operate=operate),
        "may_operate": operate,
        "may_stop": operate and run.status == RunStatus.RUNNING and not run.stop_requested,
        "findings_count": run.findings.count(),
        "tells": run.batch.engine_options.get("kind", run.batch.engine) != PLAIN_ENGINE,
    }


def _output(request: HttpRequest, run: Run) -> dict[str, Any]:
    return output_context(request, run)


def _changes(request: HttpRequest, run: Run) -> dict[str, Any]:
    split = request.GET.get("view") == "split"
    ignore = request.GET.get("space") == "ignore"
    changes = read_changes(run, ignore_space=ignore, only=_file_number(request))
    return {
        "changes": changes,
        "split": split,
        "ignore_space": ignore,
        "only": _file_number(request),
    }


def _checks(request: HttpRequest, run: Run) -> dict[str, Any]:
    stages = run.stages.filter(name="vet").exclude(outcome="")
    return {
        "gates": run.gate_records.order_by("id"),
        "findings": run.findings.order_by("id")[:FINDINGS_SHOWN],
        "vetted": stages.exists(),
    }


def _events(request: HttpRequest, run: Run) -> dict[str, Any]:
    rows = Event.objects.filter(run_id=run.id).exclude(type=types.RUN_OUTPUT)
    page = by_number(rows, request, field="seq", size=EVENTS_SHOWN)
    return {"page": page, "events": shown_events(page.rows)}


def _activity(request: HttpRequest, run: Run) -> dict[str, Any]:
    rows = Event.objects.filter(run_id=run.id, type=types.RUN_OUTPUT)
    page = by_number(rows, request, field="seq", size=PIECES_SHOWN)
    return {"page": page, "items": list(items_of(reversed(page.rows)))}


def _details(request: HttpRequest, run: Run) -> dict[str, Any]:
    return {
        "started": started_with(paths.agent_dir(run.id)) if run.started_at else None,
        "models": by_model(run.id),
        "prompt": _prompt(run) if run.started_at else "",
    }


def _prompt(run: Run) -> str:
    try:
        with (paths.run_dir(run.id) / "prompt.md").open("rb") as file:
            text = file.read(PROMPT_SHOWN).decode("utf-8", "replace")
            return mask_text(text).replace("\0", "\u2400")
    except OSError:
        return ""


TABS: dict[str, Callable[[HttpRequest, Run], dict[str, Any]]] = {
    "output": _output,
    "activity": _activity,
    "changes": _changes,
    "checks": _checks,
    "events": _events,
    "details": _details,
}


def _attempts(run: Run) -> QuerySet[Run, Any]:
    """Every attempt of its task in its batch, this one too."""
    return (
        Run.objects.filter(batch_id=run.batch_id, position=run.position)
        .only("id", "attempt", "status", "reason")
        .order_by("attempt")
    )


def _questions(run: Run) -> dict[str, Any]:
    rows = Blocker.objects.none()
    if run.task_id is not None:
        rows = Blocker.objects.filter(task_id=run.task_id, status=BlockerStatus.OPEN)
    return {
        "questions": rows.select_related("task")[:QUESTIONS_SHOWN],
        "questions_url": reverse("run-part-questions", args=[run.id]) if run.status in LIVE else "",
        "here": reverse("run", args=[run.id]),
    }


def _file_number(request: HttpRequest) -> int | None:
    text = request.GET.get("file", "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= MOST_FILES):
        raise Http404("There is no such file in these changes.")
    return int(text[:9])
