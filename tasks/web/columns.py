"""The board: a column a state, each with the first of its tasks. Windows, never all rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, QuerySet, Window
from django.db.models.functions import RowNumber

from costs.reports import cost_of_tasks
from tasks.models import Blocker, Task, TaskDependency, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus
from tasks.web.filters import TaskFilter

CARDS_SHOWN = 20
DEPENDENCIES_SHOWN = 5
FIELDS = (
    "id",
    "key",
    "title",
    "status",
    "priority",
    "estimated_hours",
    "hierarchical_id",
    "is_leaf",
    "created_at",
    "updated_at",
    "workspace_id",
)
COLUMNS: tuple[tuple[str, tuple[TaskStatus, ...]], ...] = (
    ("Backlog", (TaskStatus.BACKLOG,)),
    ("Ready", (TaskStatus.READY,)),
    ("In progress", (TaskStatus.IN_PROGRESS,)),
    ("Blocked", (TaskStatus.BLOCKED,)),
    ("Failed", (TaskStatus.FAILED,)),
    ("Done", (TaskStatus.DONE, TaskStatus.MERGED)),
)


@dataclass(kw_only=True)
class TaskCard:
    """`after`: title and state of the first few tasks it waits for; there are `more`.

    `run` is its run under way, if the caller knows one.
    """

    task: Task
    after: list[tuple[str, str]] = field(default_factory=list)
    more: int = 0
    cost: Decimal | None = None
    questions: int = 0
    run: Any = None


@dataclass(frozen=True, kw_only=True)
class Column:
    name: str
    statuses: tuple[TaskStatus, ...]
    count: int
    cards: list[TaskCard]

    @property
    def more(self) -> int:
        return self.count - len(self.cards)


def columns(workspace: Workspace, wanted: TaskFilter) -> list[Column]:
    """A query a column, by the index: one for all would sort all."""
    rows = wanted.apply(Task.objects.filter(workspace=workspace))
    counts = status_counts(rows)
    found = {
        name: list(rows.filter(status__in=statuses).only(*FIELDS)[:CARDS_SHOWN])
        if any(counts.get(status) for status in statuses)
        else []
        for name, statuses in COLUMNS
    }
    cards = {card.task.id: card for card in cards_of([t for ts in found.values() for t in ts])}
    return [
        Column(
            name=name,
            statuses=statuses,
            count=sum(counts.get(status, 0) for status in statuses),
            cards=[cards[task.id] for task in found[name]],
        )
        for name, statuses in COLUMNS
    ]


def status_counts(rows: QuerySet[Task]) -> dict[str, int]:
    return dict(rows.order_by().values_list("status").annotate(Count("id")))


def cards_of(tasks: Sequence[Task]) -> list[TaskCard]:
    """In the same order; three queries however many they are."""
    ids = [task.id for task in tasks]
    cards = {task.id: TaskCard(task=task) for task in tasks}
    for task_id, title, status, count in _dependencies(ids):
        cards[task_id].after.append((title, status))
        cards[task_id].more = max(0, count - DEPENDENCIES_SHOWN)
    for task_id, cost in cost_of_tasks(ids).items():
        cards[task_id].cost = cost
    for task_id, count in _questions(ids):
        cards[task_id].questions = count
    return list(cards.values())


def _dependencies(ids: list[UUID]) -> QuerySet[TaskDependency, tuple[Any, ...]]:
    return (
        TaskDependency.objects.filter(task__in=ids)
        .annotate(
            place=Window(RowNumber(), partition_by=F("task_id"), order_by="id"),
            count=Window(Count("id"), partition_by=F("task_id")),
        )
        .filter(place__lte=DEPENDENCIES_SHOWN)
        .values_list("task_id", "depends_on__title", "depends_on__status", "count")
    )


def _questions(ids: list[UUID]) -> QuerySet[Blocker, tuple[Any, ...]]:
    rows = Blocker.objects.filter(task__in=ids, status=BlockerStatus.OPEN)
    return rows.order_by().values_list("task_id").annotate(count=Count("id"))
