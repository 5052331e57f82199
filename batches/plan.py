"""What of a batch may start now, what waits for what, and what is waiting out a back-off."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from heapq import heappop, heappush
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from batches.models import Batch, Run
from batches.models.run import LIVE, RunStatus
from tasks.models import Task, TaskDependency
from tasks.models.task import FINISHED
from tasks.planning.graph import Place, ReadySet

FOREVER = 3600.0
FEW = 500
"""Ids that a query may name one by one."""


class Plan:
    """In memory, rebuilt from rows by each owner. Nodes are task ids (a run's own, if deleted)."""

    def __init__(self, runs: list[Run], edges: dict[UUID, list[UUID]]) -> None:
        live = {node_of(run): run for run in runs if run.status in LIVE}
        unmet = {node_of(run) for run in runs if run.status != RunStatus.COMPLETED}
        # A run under way waits for nothing, whatever edges its task was given since.
        begun = {node for node, run in live.items() if run.status == RunStatus.RUNNING}
        waits = {node: edges.get(node, ()) for node in unmet - begun}
        self._runs = live
        self._ready: ReadySet[UUID] = ReadySet(
            {node: [d for d in waits.get(node, ()) if d in unmet] for node in unmet},
            sort_key={node_of(run): run.position for run in runs}.__getitem__,
        )
        self._delayed: list[tuple[datetime, int, Run]] = []
        self._queued = {node for node, run in live.items() if run.status == RunStatus.QUEUED}
        self.skipped_at_load = self._settle_ended(runs)
        self.under_way = self._take_under_way()

    # -- asked by the conductor ------------------------------------------------------------------

    def next_run(self) -> Run | None:
        """The next run to start, counted as started; None when none is ready now."""
        now = timezone.now()
        while self._delayed and self._delayed[0][0] <= now:
            self._ready.requeue(node_of(heappop(self._delayed)[2]))
        while (node := self._ready.pop()) is not None:
            run = self._runs[node]
            if run.not_before and run.not_before > now:
                self._delay(run)
                continue
            self._queued.discard(node)
            return run
        return None

    @property
    def has_more(self) -> bool:
        return bool(self._ready.ready or self._delayed)

    def seconds_to_next(self) -> float:
        """Until the first back-off ends."""
        if not self._delayed:
            return FOREVER
        return max(0.0, (self._delayed[0][0] - timezone.now()).total_seconds())

    def never_started(self) -> list[Run]:
        return [self._runs[node] for node in self._in_order(self._queued)]

    def finished_elsewhere(self, run: Run) -> bool:
        return run.task is not None and run.task.status in FINISHED

    # -- told by the conductor -------------------------------------------------------------------

    def put_back(self, run: Run) -> None:
        self._queued.add(node_of(run))
        self._ready.requeue(node_of(run))

    def complete(self, run: Run) -> None:
        self._ready.complete(node_of(run))

    def fail(self, run: Run) -> list[Run]:
        """Runs that depend on it, directly or not, and now can't start; they are dropped."""
        skipped = self._ready.fail(node_of(run))
        return self._drop(skipped)

    def keep_dependents(self, run: Run) -> None:
        """As `fail`, but the dependents stay among those that never started."""
        self._ready.fail(node_of(run))

    def retry(self, following: Run) -> None:
        node = node_of(following)
        self._runs[node] = following
        self._queued.add(node)
        if following.not_before and following.not_before > timezone.now():
            self._delay(following)
        else:
            self._ready.requeue(node)

    # -- inside ----------------------------------------------------------------------------------

    def _delay(self, run: Run) -> None:
        assert run.not_before is not None
        heappush(self._delayed, (run.not_before, run.position, run))

    def _drop(self, nodes: list[UUID]) -> list[Run]:
        dropped = [node for node in nodes if node in self._queued]
        self._queued.difference_update(dropped)
        return [self._runs[node] for node in dropped]

    def _settle_ended(self, runs: list[Run]) -> list[Run]:
        """A crash may have come between a failure and the skips it causes."""
        skipped: list[Run] = []
        for run in runs:
            node = node_of(run)
            if run.status in LIVE or run.status == RunStatus.COMPLETED:
                continue
            if self._ready.place(node) not in (Place.FAILED, Place.SKIPPED):
                skipped += self._drop(self._ready.fail(node))
        return skipped

    def _take_under_way(self) -> list[Run]:
        taken: list[Run] = []
        rest: list[UUID] = []
        while (node := self._ready.pop()) is not None:
            run = self._runs[node]
            if run.status == RunStatus.RUNNING:
                taken.append(run)
            else:
                rest.append(node)
        for node in rest:
            self._ready.requeue(node)
        return taken

    def _in_order(self, nodes: set[UUID]) -> Iterable[UUID]:
        return sorted(nodes, key=lambda node: self._runs[node].position)


def node_of(run: Run) -> UUID:
    return run.task_id or run.id


def load_plan(batch: Batch) -> Plan:
    rows = Run.objects.filter(batch=batch, superseded=False).order_by("position")
    runs = list(rows.defer("agent_state"))  # kilobytes each, which most runs need no more
    return Plan(runs, dependency_edges(run.task_id for run in runs if run.task_id))


def dependency_edges(task_ids: Iterable[UUID]) -> dict[UUID, list[UUID]]:
    """Task -> its dependencies, in one query whatever the number of tasks of one workspace."""
    wanted = set(task_ids)
    edges: dict[UUID, list[UUID]] = defaultdict(list)
    for task_id, dependency_id in _edges_around(wanted).values_list("task_id", "depends_on_id"):
        if task_id in wanted:
            edges[task_id].append(dependency_id)
    return edges


def _edges_around(wanted: set[UUID]) -> QuerySet[TaskDependency]:
    """Of these tasks, and of the rest of their workspace when they are too many to be named."""
    if len(wanted) <= FEW:
        return TaskDependency.objects.filter(task_id__in=wanted)
    workspace = Task.objects.filter(id=next(iter(wanted))).values("workspace_id")
    return TaskDependency.objects.filter(task__workspace_id__in=workspace)
