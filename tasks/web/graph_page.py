"""A workspace's dependencies as a picture, with a table that says the same."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from tasks.models import Task, TaskDependency, Workspace
from tasks.models.task import FINISHED, TaskStatus
from tasks.planning.picture import HEIGHT, WIDTH, Edge, Picture
from tasks.text import clip, storable
from tasks.web.filters import MAX_WORDS
from tasks.web.laying_out import picture_of
from tasks.web.live import stream_of
from tasks.web.rows import workspace_row

MOST_TASKS = 2000
MOST_EDGES = 10_000
TABLE_ROWS = 200
LABEL = 22
"""Letters that fit into a box."""


@dataclass(frozen=True, kw_only=True)
class Node:
    task: Task
    label: str
    x: int
    y: int
    matches: bool


@dataclass(frozen=True, kw_only=True)
class Graph:
    tasks: list[Task]
    edges: list[Edge]
    cut: bool


@require_safe
@login_required
def graph_page(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    workspace = workspace_row(request, workspace_id)
    stream = stream_of("workspaces", workspace.id, workspace_id=workspace.id)
    words = storable(request.GET.get("q", "").strip()[:MAX_WORDS])
    unfinished = request.GET.get("unfinished") == "on"
    graph = graph_of(workspace, unfinished=unfinished)
    picture = picture_of(len(graph.tasks), graph.edges) if graph.tasks else None
    if request.headers.get("HX-Request"):
        return _waiting(request, ready=not graph.tasks or picture is not None)
    context: dict[str, Any] = {
        "workspace": workspace,
        "stream": stream,
        "words": words,
        "unfinished": unfinished,
        "graph": graph,
        "waits": bool(graph.tasks) and picture is None,
        "table": _table(graph) if len(graph.tasks) <= TABLE_ROWS else None,
        "statuses": TaskStatus.values,
    }
    if picture is not None:
        context |= {
            "picture": picture,
            "nodes": _nodes(graph.tasks, picture, words),
            "lines": [_line(picture.spots[a], picture.spots[b]) for a, b in graph.edges],
            "box": {"width": WIDTH, "height": HEIGHT},
        }
    return render(request, "tasks/graph.html", context)


@require_safe
@login_required
def graph_states(request: HttpRequest, workspace_id: UUID) -> JsonResponse:
    """State by task, for a picture that has missed events."""
    workspace = workspace_row(request, workspace_id)
    rows = _rows(workspace).values_list("id", "status")[:MOST_TASKS]
    return JsonResponse({str(task_id): status for task_id, status in rows})


def _waiting(request: HttpRequest, *, ready: bool) -> HttpResponse:
    """For a page that waits for its picture: wait on, or load the page again."""
    response = render(request, "tasks/graph_waits.html")
    if ready:
        response["HX-Refresh"] = "true"
    return response


def graph_of(workspace: Workspace, *, unfinished: bool) -> Graph:
    rows = _rows(workspace)
    if unfinished:
        rows = rows.exclude(status__in=FINISHED)
    tasks = list(rows.only("id", "title", "status", "priority", "workspace_id")[: MOST_TASKS + 1])
    cut = len(tasks) > MOST_TASKS
    del tasks[MOST_TASKS:]
    place = {task.id: index for index, task in enumerate(tasks)}
    pairs = TaskDependency.objects.filter(task__workspace=workspace).order_by("id")
    edges = list(_placed(pairs.values_list("depends_on_id", "task_id"), place))
    return Graph(tasks=tasks, edges=edges[:MOST_EDGES], cut=cut or len(edges) > MOST_EDGES)


def _rows(workspace: Workspace) -> QuerySet[Task]:
    return Task.objects.filter(workspace=workspace)


def _placed(pairs: Iterable[tuple[UUID, UUID]], place: dict[UUID, int]) -> Iterable[Edge]:
    for first, then in pairs:
        if first in place and then in place:
            yield place[first], place[then]


def _nodes(tasks: Sequence[Task], picture: Picture, words: str) -> list[Node]:
    return [
        Node(
            task=task,
            label=clip(task.title, LABEL),
            x=round(x),
            y=round(y),
            matches=bool(words) and words.lower() in task.title.lower(),
        )
        for task, (x, y) in zip(tasks, picture.spots, strict=True)
    ]


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    """From the right side of what is done first to the left side of what waits for it."""
    x1, y1 = start[0] + WIDTH, start[1] + HEIGHT / 2
    x2, y2 = end[0] - 4, end[1] + HEIGHT / 2
    bend = max(30.0, (x2 - x1) / 2)
    return f"M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"


def _table(graph: Graph) -> list[tuple[Task, list[Task]]]:
    after: dict[int, list[Task]] = {}
    for first, then in graph.edges:
        after.setdefault(then, []).append(graph.tasks[first])
    return [(task, after.get(index, [])) for index, task in enumerate(graph.tasks)]
