"""When each run was at work, one lane per slot, ready to be drawn and to be read as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from uuid import UUID

from batches.models import Run, Stage
from batches.plan import node_of
from batches.terminal.states import seconds
from batches.web.marks import mark
from tasks.planning.graph import CycleError, longest_chain

WIDTH = 1000
"""The axis in units of the drawing."""
LANE = 22
BAR = 16
NARROWEST = 2.0
STAGES_UP_TO = 150
"""Runs of which the stages are drawn too."""
LINKED_UP_TO = 150
MOST_RUNS = 1000


@dataclass(frozen=True, kw_only=True)
class Shade:
    x: float
    width: float
    name: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    run: Run
    lane: int
    x: float
    y: int
    width: float
    tone: str
    critical: bool
    title: str
    starts: str
    took: str
    shades: list[Shade] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Gantt:
    """`height` and `lanes` of the drawing; `critical` is the length of the longest chain."""

    bars: list[Bar]
    lanes: int
    height: int
    took: str
    critical: str
    linked: bool
    left_out: int


def gantt(
    runs: Sequence[Run],
    *,
    edges: Mapping[UUID, Iterable[UUID]],
    stages: Mapping[UUID, Sequence[Stage]],
    now: datetime,
) -> Gantt | None:
    """None while nothing has begun. `runs` are all attempts."""
    begun = sorted((run for run in runs if run.started_at), key=_start)
    left_out = max(0, len(begun) - MOST_RUNS)
    begun = begun[-MOST_RUNS:]
    if not begun:
        return None
    begin = _start(begun[0])
    axis = max((max(_end(run, now) for run in begun) - begin).total_seconds(), 0.001)
    chain, length = _critical(begun, edges, now)
    lanes = _lanes(begun, now)
    bars = [
        _bar(run, lanes[run.id], begin, now, axis, stages.get(run.id, ()), run.id in chain)
        for run in begun
    ]
    count = max(lanes.values()) + 1
    return Gantt(
        bars=bars,
        lanes=count,
        height=count * LANE,
        took=seconds(axis),
        critical=seconds(length),
        linked=len(bars) <= LINKED_UP_TO,
        left_out=left_out,
    )


def _start(run: Run) -> datetime:
    assert run.started_at is not None
    return run.started_at


def _end(run: Run, now: datetime) -> datetime:
    return max(run.finished_at or now, _start(run))


def _lanes(runs: Sequence[Run], now: datetime) -> dict[UUID, int]:
    """Which slot a run had is not recorded: the lowest that was free tells the same story."""
    free: list[int] = []
    busy: list[tuple[datetime, int]] = []
    lanes: dict[UUID, int] = {}
    for run in runs:
        while busy and busy[0][0] <= _start(run):
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        heappush(busy, (_end(run, now), lane))
        lanes[run.id] = lane
    return lanes


def _critical(
    runs: Sequence[Run], edges: Mapping[UUID, Iterable[UUID]], now: datetime
) -> tuple[set[UUID], float]:
    """Ids of the runs on the longest chain of dependent tasks, and its seconds."""
    last = {node_of(run): run for run in sorted(runs, key=lambda run: run.attempt)}
    took: dict[UUID, float] = {}
    for run in runs:
        spent = (_end(run, now) - _start(run)).total_seconds()
        took[node_of(run)] = took.get(node_of(run), 0.0) + spent
    graph = {node: [d for d in edges.get(node, ()) if d in last] for node in last}
    try:
        length, chain = longest_chain(graph, took.__getitem__)
    except CycleError:  # edges that were added after the batch was made
        return set(), 0.0
    on_it = set(chain)
    return {run.id for run in runs if node_of(run) in on_it}, length


def _bar(
    run: Run,
    lane: int,
    begin: datetime,
    now: datetime,
    axis: float,
    stages: Sequence[Stage],
    critical: bool,  # noqa: FBT001
) -> Bar:
    took = (_end(run, now) - _start(run)).total_seconds()
    since = (_start(run) - begin).total_seconds()
    state = run.status.lower()
    again = f", attempt {run.attempt}" if run.attempt > 1 else ""
    return Bar(
        run=run,
        lane=lane + 1,
        x=_at(since, axis),
        y=lane * LANE + (LANE - BAR) // 2,
        width=_width(took, axis),
        tone=mark(run.status).tone,
        critical=critical,
        title=f"{run.title}{again}: {state}, {seconds(took)}",
        starts=seconds(since),
        took=seconds(took),
        shades=[_shade(stage, begin, now, axis) for stage in stages if stage.name != "agent"],
    )


def _shade(stage: Stage, begin: datetime, now: datetime, axis: float) -> Shade:
    took = max(0.0, ((stage.ended_at or now) - stage.started_at).total_seconds())
    since = (stage.started_at - begin).total_seconds()
    return Shade(x=_at(since, axis), width=round(took / axis * WIDTH, 1), name=stage.name)


def _at(since: float, axis: float) -> float:
    return round(min(since / axis * WIDTH, WIDTH - NARROWEST), 1)


def _width(took: float, axis: float) -> float:
    return round(max(NARROWEST, took / axis * WIDTH), 1)
