"""Dependency graphs: a mapping of task -> the tasks it depends on.

Everything is iterative (a chain of 10,000 is legal) and O(V + E). A dependency that is not itself
a key lies outside the graph and is ignored; repeated dependencies count once.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import Enum, auto
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class CycleError(ValueError):
    """`path` is closed, from each task to its dependency: [a, b, a]."""

    def __init__(self, path: list[Any]) -> None:
        super().__init__("dependency cycle: " + " -> ".join(map(str, path)))
        self.path = path


def find_cycle(edges: Mapping[K, Iterable[K]]) -> list[K] | None:
    """One cycle as a closed path [a, b, a] (a self-dependency is [a, a]), or None."""
    finished: set[K] = set()
    for root in edges:
        if root not in finished and (cycle := _cycle_from(root, edges, finished)):
            return cycle
    return None


def _cycle_from(root: K, edges: Mapping[K, Iterable[K]], finished: set[K]) -> list[K] | None:
    path: dict[K, Iterator[K]] = {root: iter(edges[root])}
    while path:
        for dependency in path[next(reversed(path))]:
            if dependency in path:
                walked = list(path)
                return [*walked[walked.index(dependency) :], dependency]
            if dependency in edges and dependency not in finished:
                path[dependency] = iter(edges[dependency])
                break
        else:
            finished.add(path.popitem()[0])
    return None


def would_close_cycle(edges: Mapping[K, Iterable[K]], task: K, new_dependency: K) -> list[K] | None:
    """The closed path that `task` depending on `new_dependency` would make, or None."""
    came_from: dict[K, K] = {new_dependency: task}
    stack = [new_dependency]
    while stack:
        node = stack.pop()
        if node == task:
            return _trail(came_from, task, new_dependency)
        for dependency in edges.get(node, ()):
            if dependency not in came_from:
                came_from[dependency] = node
                stack.append(dependency)
    return None


def _trail(came_from: Mapping[K, K], task: K, first: K) -> list[K]:
    backwards = [task]
    node = task
    while node != first:
        node = came_from[node]
        backwards.append(node)
    return [task, *reversed(backwards)]


def waves(edges: Mapping[K, Iterable[K]]) -> list[list[K]]:
    """Levels by longest path, each in the order of `edges`; for showing, never for scheduling.

    Raises CycleError.
    """
    dependents, missing = _inverted(edges)
    position = {node: index for index, node in enumerate(edges)}
    levels: list[list[K]] = []
    level = [node for node in edges if not missing[node]]
    while level:
        levels.append(level)
        level = [freed for node in level for freed in _freed_by(node, dependents, missing)]
        level.sort(key=position.__getitem__)
    if any(missing.values()):
        _refuse_cycle(dependents)
    return levels


def longest_chain(
    edges: Mapping[K, Iterable[K]], weight: Callable[[K], float]
) -> tuple[float, list[K]]:
    """The critical path, first task first, and the sum of its weights; weights are >= 0.

    Raises CycleError.
    """
    known = {node: tuple(dependencies) for node, dependencies in edges.items()}
    end: dict[K, float] = {}
    before: dict[K, K] = {}
    for node in (node for level in waves(known) for node in level):
        inside = [dependency for dependency in known[node] if dependency in end]
        if inside:
            before[node] = max(inside, key=end.__getitem__)
        end[node] = weight(node) + (end[before[node]] if inside else 0)
    if not end:
        return 0, []
    last = max(end, key=end.__getitem__)
    return end[last], _chain_to(last, before)


def _chain_to(last: K, before: Mapping[K, K]) -> list[K]:
    chain = [last]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    return chain[::-1]


def _inverted(edges: Mapping[K, Iterable[K]]) -> tuple[dict[K, list[K]], dict[K, int]]:
    """Who waits for each node, and how many dependencies each node still misses."""
    dependents: dict[K, list[K]] = {node: [] for node in edges}
    missing: dict[K, int] = {}
    for node, dependencies in edges.items():
        inside = {dependency for dependency in dependencies if dependency in dependents}
        missing[node] = len(inside)
        for dependency in inside:
            dependents[dependency].append(node)
    return dependents, missing


def _freed_by(node: K, dependents: Mapping[K, list[K]], missing: dict[K, int]) -> list[K]:
    freed = []
    for dependent in dependents[node]:
        missing[dependent] -= 1
        if not missing[dependent]:
            freed.append(dependent)
    return freed


def _refuse_cycle(dependents: Mapping[K, list[K]]) -> None:
    if cycle := find_cycle(dependents):
        raise CycleError(cycle[::-1])


class Place(Enum):
    """Where a task of a ReadySet stands."""

    WAITING = auto()
    READY = auto()
    RUNNING = auto()
    DONE = auto()
    FAILED = auto()
    SKIPPED = auto()


class ReadySet(Generic[K]):
    """Hands out tasks whose dependencies are done, lowest sort key first (ties: order of `edges`).

    Raises CycleError when made. Asking for a move a task's place does not allow is a ValueError.
    """

    def __init__(self, edges: Mapping[K, Iterable[K]], *, sort_key: Callable[[K], Any]) -> None:
        self._dependents, self._missing = _inverted(edges)
        _refuse_cycle(self._dependents)
        self._ordered = sorted(self._dependents, key=sort_key)
        self._rank = {node: rank for rank, node in enumerate(self._ordered)}
        self._place = {
            node: Place.WAITING if missing else Place.READY
            for node, missing in self._missing.items()
        }
        self._count = dict.fromkeys(Place, 0)
        for place in self._place.values():
            self._count[place] += 1
        self._heap = [self._rank[n] for n, place in self._place.items() if place is Place.READY]
        heapify(self._heap)

    @property
    def waiting(self) -> int:
        return self._count[Place.WAITING]

    @property
    def ready(self) -> int:
        return self._count[Place.READY]

    @property
    def running(self) -> int:
        return self._count[Place.RUNNING]

    @property
    def finished(self) -> bool:
        """Nothing is left to run or still running."""
        return not (self.waiting or self.ready or self.running)

    def place(self, node: K) -> Place:
        return self._place[node]

    def pop(self) -> K | None:
        """The next task to run, now counted as running; None when none is ready."""
        while self._heap:
            node = self._ordered[heappop(self._heap)]
            # A task settled while it was ready leaves its heap entry behind.
            if self._place[node] is Place.READY:
                self._move(node, Place.RUNNING)
                return node
        return None

    def complete(self, node: K) -> list[K]:
        """The tasks that became ready, in sort order."""
        self._require(node, Place.RUNNING, Place.READY)
        self._move(node, Place.DONE)
        freed = sorted(_freed_by(node, self._dependents, self._missing), key=self._rank.__getitem__)
        # A dependent may have been failed while it waited; it stays failed.
        freed = [dependent for dependent in freed if self._place[dependent] is Place.WAITING]
        for dependent in freed:
            self._enqueue(dependent)
        return freed

    def fail(self, node: K) -> list[K]:
        """Every direct and indirect dependent that is skipped by this, nearest first, each once."""
        self._require(node, Place.RUNNING, Place.READY, Place.WAITING)
        self._move(node, Place.FAILED)
        skipped: list[K] = []
        queue = deque([node])
        while queue:
            for dependent in self._dependents[queue.popleft()]:
                # Whoever is no longer waiting was skipped or failed before, dependents and all.
                if self._place[dependent] is Place.WAITING:
                    self._move(dependent, Place.SKIPPED)
                    skipped.append(dependent)
                    queue.append(dependent)
        return skipped

    def requeue(self, node: K) -> None:
        """A running task goes back among the ready ones, to be handed out again."""
        self._require(node, Place.RUNNING)
        self._enqueue(node)

    def _enqueue(self, node: K) -> None:
        self._move(node, Place.READY)
        heappush(self._heap, self._rank[node])

    def _move(self, node: K, place: Place) -> None:
        self._count[self._place[node]] -= 1
        self._count[place] += 1
        self._place[node] = place

    def _require(self, node: K, *allowed: Place) -> None:
        if self._place[node] not in allowed:
            raise ValueError(f"{node} is {self._place[node].name.lower()}")
