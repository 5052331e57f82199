"""Whom a round kills."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults import host
from tests.faults.points import POINTS, Point
from tests.faults.world import World

Pids = Callable[[World, list[int]], list[int]]


@dataclass(frozen=True, kw_only=True)
class Victim:
    """`pids` is given those that wait at the points. `takes_over`: the conductors die with it.
    `repeats`: what of that which a supervisor runs makes the engine start once more.
    """

    name: str
    says: str
    pids: Pids
    takes_over: bool = False
    repeats: frozenset[str] = frozenset()

    @property
    def points(self) -> list[Point]:
        """All, unless the conductors live on: then those where a supervisor is at work."""
        return [point for point in POINTS if point.alive or self.takes_over]


def _supervisors(world: World, _: list[int]) -> list[int]:
    return host.supervisors(world.state)


def _supervised(world: World, _: list[int]) -> list[int]:
    return host.supervised(world.state)


def _everything(world: World, _: list[int]) -> list[int]:
    return [*world.cluster(), *_supervisors(world, []), *_supervised(world, [])]


VICTIMS = (
    Victim(
        name="conductor",
        says="the queue's worker process that conducts the batch",
        pids=lambda world, waiting: waiting,
        takes_over=True,
    ),
    Victim(
        name="sentinel",
        says="the parent of the queue's processes",
        pids=lambda world, _: [world.sentinel],
        takes_over=True,
    ),
    Victim(
        name="pusher",
        says="the queue's process that fetches messages",
        pids=lambda world, _: world.role("pusher"),
    ),
    Victim(
        name="monitor",
        says="the queue's process that collects results",
        pids=lambda world, _: world.role("monitor"),
    ),
    Victim(
        name="main",
        says="the worker command itself",
        pids=lambda world, _: [world.main.pid],
        takes_over=True,
    ),
    Victim(
        name="cluster",
        says="all of the worker's processes at once",
        pids=lambda world, _: world.cluster(),
        takes_over=True,
    ),
    Victim(
        name="everything",
        says="the worker, the supervisors and what they supervise",
        pids=_everything,
        takes_over=True,
        repeats=frozenset({"agent"}),
    ),
    Victim(
        name="supervisor",
        says="the supervisors of agents and gates",
        pids=_supervisors,
        repeats=frozenset({"agent"}),
    ),
    Victim(
        name="agent",
        says="the agents and gates themselves",
        pids=_supervised,
        repeats=frozenset({"agent", "gate"}),
    ),
)
