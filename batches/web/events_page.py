"""The event log of a workspace, filtered, and live."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from batches.models import Run
from batches.terminal.plain import describe
from batches.web.looking_up import asked_id, workspace_row
from tasks.access import visible_workspaces
from tasks.events import types
from tasks.models import Event, Task, Workspace
from tasks.text import clip, compact_json, one_line
from tasks.web.cursors import by_number
from tasks.web.live import stream_of

EVENTS_SHOWN = 100
PAYLOAD_SHOWN = 2000
TYPES = sorted(
    value for name, value in vars(types).items() if name.isupper() and isinstance(value, str)
)
GROUPS = ("TASK_", "BLOCKER_", "BATCH_", "RUN_")
IDS = ("task", "batch", "run")
WORDS = {
    types.TASK_STATUS: "is {status} {why}",
    types.TASK_CREATED: "added as {status}",
    types.TASK_UPDATED: "changed",
    types.TASK_DELETED: "deleted {title}",
}


@require_safe
@login_required
def events_home(request: HttpRequest) -> HttpResponse:
    """Numbers of events belong to a workspace, so the log is one workspace's."""
    seen = visible_workspaces(request.user)
    rows = list(seen.only("id", "name")[:2])
    if len(rows) == 1:
        return redirect("workspace-events", workspace_id=rows[0].id)
    return render(request, "batches/events_home.html", {"workspaces": seen[:200]})


@require_safe
@login_required
def events_page(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id)
    stream = stream_of("workspaces", workspace.id, workspace_id=workspace.id)
    page = by_number(_wanted(request, workspace), request, field="seq", size=EVENTS_SHOWN)
    context = {
        "workspace": workspace,
        "page": page,
        "events": shown_events(page.rows),
        "chosen": {name: request.GET.get(name, "") for name in ("type", *IDS)},
        "query": request.GET.urlencode(),
        "types": TYPES,
        "groups": GROUPS,
        "with_output": request.GET.get("output") == "1",
        "stream": stream if page.first else None,
    }
    part = request.GET.get("part") == "rows"
    return render(request, f"batches/{'parts/events' if part else 'events'}.html", context)


def shown_events(events: Sequence[Event]) -> list[dict[str, Any]]:
    """With what they are about, in words; titles by two queries, however many events."""
    runs = {event.run_id for event in events if event.run_id}
    tasks = {event.task_id for event in events if event.task_id and not event.run_id}
    titles: dict[UUID, str] = dict(Run.objects.filter(id__in=runs).values_list("id", "title"))
    titles |= dict(Task.objects.filter(id__in=tasks).values_list("id", "title"))
    return [
        {
            "event": event,
            "text": in_words(event),
            "subject": titles.get(event.run_id or event.task_id or UUID(int=0), ""),
            "payload": clip(compact_json(event.payload), PAYLOAD_SHOWN) if event.payload else "",
        }
        for event in events
    ]


def in_words(event: Event) -> str:
    """A type that has no words of its own is shown by its name; its payload says the rest."""
    if event.type in WORDS:
        return WORDS[event.type].format_map(defaultdict(str, event.payload))
    if event.type == types.RUN_OUTPUT:
        return one_line(str(event.payload.get("text", "")))
    try:
        return describe(event) or event.type
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):  # of an older payload
        return event.type


def _wanted(request: HttpRequest, workspace: Workspace) -> QuerySet[Event]:
    rows = Event.objects.filter(workspace=workspace)
    name = request.GET.get("type", "")
    if name in GROUPS:
        rows = rows.filter(type__in=[one for one in TYPES if one.startswith(name)])
    elif name in TYPES:
        rows = rows.filter(type=name)
    if name != types.RUN_OUTPUT and request.GET.get("output") != "1":
        rows = rows.exclude(type=types.RUN_OUTPUT)
    for noun in IDS:
        if wanted := asked_id(request.GET, noun, noun):
            rows = rows.filter(**{f"{noun}_id": wanted})
    return rows
