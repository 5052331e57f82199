"""What a batch would do, before it is made: waves, what stands in the way, how long, how dear."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from batches.admission import RUNNABLE, WHY_NOT
from batches.plan import dependency_edges
from tasks.models import Task, Workspace
from tasks.models.task import FINISHED, TaskStatus
from tasks.planning.graph import CycleError, longest_chain, waves

PROBLEMS_SHOWN = 20
TASKS_SHOWN = 12
"""Of each wave."""
_FIELDS = ("id", "title", "status", "priority", "created_at", "is_leaf", "workspace_id")


@dataclass(frozen=True, kw_only=True)
class Missing:
    """`task` needs `needs`, which is not done and not in the batch. `can_add`: it could be."""

    task: Task
    needs: Task
    can_add: bool


@dataclass(frozen=True, kw_only=True)
class Wave:
    number: int
    tasks: Sequence[Task]
    count: int


@dataclass(kw_only=True)
class StartPlan:
    tasks: list[Task] = field(default_factory=list)
    graph: dict[UUID, list[UUID]] = field(default_factory=dict)
    waves: list[Wave] = field(default_factory=list)
    chain: int = 0
    missing: list[Missing] = field(default_factory=list)
    more_missing: int = 0
    refused: list[tuple[Task, str]] = field(default_factory=list)
    cycle: list[str] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        return bool(self.tasks) and not (self.missing or self.refused or self.cycle)


def start_plan(
    workspace: Workspace,
    *,
    chosen: Sequence[UUID],
    added: Sequence[UUID],
    dropped: Sequence[UUID],
) -> StartPlan:
    """Every READY task when none is chosen, with those added and without those dropped."""
    tasks = _tasks(workspace, chosen, added)
    edges = dependency_edges(tasks)
    for gone in _with_dependents(dropped, edges):
        tasks.pop(gone, None)
    plan = StartPlan(
        tasks=sorted(tasks.values(), key=lambda task: (task.priority, task.created_at, task.id))
    )
    plan.refused = [
        (task, why) for task in plan.tasks if (why := _why_not(task)) and len(plan.refused) < 20
    ]
    plan.graph = {task.id: [d for d in edges.get(task.id, ()) if d in tasks] for task in plan.tasks}
    _find_missing(plan, edges)
    _draw_waves(plan)
    return plan


def _tasks(workspace: Workspace, chosen: Sequence[UUID], added: Sequence[UUID]) -> dict[UUID, Task]:
    rows = Task.objects.filter(workspace=workspace).only(*_FIELDS)
    if chosen:
        found = {task.id: task for task in rows.filter(id__in=[*chosen, *added])}
    else:
        found = {t.id: t for t in rows.filter(status=TaskStatus.READY, is_leaf=True)}
        found |= {t.id: t for t in rows.filter(id__in=added)} if added else {}
    return found


def _with_dependents(dropped: Iterable[UUID], edges: Mapping[UUID, Iterable[UUID]]) -> set[UUID]:
    """Whoever waits for what is left out is left out too."""
    waiting: dict[UUID, list[UUID]] = {}
    for task_id, needs in edges.items():
        for other in needs:
            waiting.setdefault(other, []).append(task_id)
    gone: set[UUID] = set()
    stack = list(dropped)
    while stack:
        task_id = stack.pop()
        if task_id not in gone:
            gone.add(task_id)
            stack += waiting.get(task_id, ())
    return gone


def _why_not(task: Task) -> str:
    if not task.is_leaf:
        return "is made of sub-tasks; run those instead"
    status = TaskStatus(task.status)
    return "" if status in RUNNABLE else WHY_NOT[status]


def _find_missing(plan: StartPlan, edges: Mapping[UUID, Iterable[UUID]]) -> None:
    inside = {task.id: task for task in plan.tasks}
    pairs = [(t, d) for t in inside for d in edges.get(t, ()) if d not in inside]
    outside = Task.objects.filter(id__in={d for _, d in pairs}).exclude(status__in=FINISHED)
    unmet = {task.id: task for task in outside.only(*_FIELDS)} if pairs else {}
    found = [
        Missing(task=inside[t], needs=unmet[d], can_add=not _why_not(unmet[d]))
        for t, d in pairs
        if d in unmet
    ]
    plan.missing = found[:PROBLEMS_SHOWN]
    plan.more_missing = len(found) - len(plan.missing)


def _draw_waves(plan: StartPlan) -> None:
    by_id = {task.id: task for task in plan.tasks}
    try:
        levels = waves(plan.graph)
        length, _ = longest_chain(plan.graph, lambda _: 1)
    except CycleError as error:
        plan.cycle = [by_id[task_id].title for task_id in error.path]
        return
    plan.chain = int(length)
    plan.waves = [
        Wave(
            number=number,
            tasks=[by_id[task_id] for task_id in level[:TASKS_SHOWN]],
            count=len(level),
        )
        for number, level in enumerate(levels, start=1)
    ]
