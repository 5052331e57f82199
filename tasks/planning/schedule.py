"""When work that is left would be done: critical path over a number of agents. Pure."""

import heapq
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tasks.planning.graph import ReadySet, longest_chain

K = TypeVar("K", bound=Hashable)
DEFAULT_HOURS = 1.0


@dataclass(frozen=True)
class Slot(Generic[K]):
    """Hours from now; `agent` counts from 1."""

    task: K
    start: float
    end: float
    agent: int


@dataclass(frozen=True)
class Forecast(Generic[K]):
    slots: list[Slot[K]]
    total_hours: float
    critical_path: list[K]
    critical_hours: float


def forecast(
    edges: Mapping[K, Iterable[K]], hours: Mapping[K, float], *, agents: int
) -> Forecast[K]:
    """List scheduling, the task with the longest chain behind it first. Raises CycleError."""
    known = {node: [d for d in dependencies if d in edges] for node, dependencies in edges.items()}
    rest = _rest(known, hours)
    ready: ReadySet[K] = ReadySet(known, sort_key=lambda node: -rest[node])
    free = [(0.0, agent) for agent in range(1, agents + 1)]
    heapq.heapify(free)
    running: list[tuple[float, int, int, K]] = []
    slots: list[Slot[K]] = []
    now = 0.0
    while not ready.finished:
        while free and (node := ready.pop()) is not None:
            at, agent = heapq.heappop(free)
            start = max(at, now)
            end = start + hours[node]
            slots.append(Slot(node, start, end, agent))
            heapq.heappush(running, (end, len(slots), agent, node))
        now, _, agent, node = heapq.heappop(running)
        heapq.heappush(free, (now, agent))
        ready.complete(node)
    critical, path = longest_chain(known, hours.__getitem__)
    return Forecast(slots, max((slot.end for slot in slots), default=0.0), path, critical)


def _rest(edges: Mapping[K, list[K]], hours: Mapping[K, float]) -> dict[K, float]:
    """Hours of the longest chain from each task's start to the end of all."""
    dependents: dict[K, list[K]] = {node: [] for node in edges}
    waiting = dict.fromkeys(edges, 0)
    for node, dependencies in edges.items():
        for dependency in dependencies:
            dependents[dependency].append(node)
            waiting[dependency] += 1
    rest = dict.fromkeys(edges, 0.0)
    stack = [node for node, count in waiting.items() if not count]
    while stack:
        node = stack.pop()
        rest[node] = hours[node] + max((rest[d] for d in dependents[node]), default=0.0)
        for dependency in edges[node]:
            waiting[dependency] -= 1
            if not waiting[dependency]:
                stack.append(dependency)
    return rest
