"""How long and how dear what is left will be, from what finished runs really took."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median
from uuid import UUID

from batches.models import Batch, Run
from batches.models.run import RunStatus
from batches.plan import node_of
from costs.totals import totals_of_runs
from tasks.models import Workspace
from tasks.planning.graph import CycleError
from tasks.planning.schedule import forecast

LEARNED_FROM = 30
ENOUGH = 3
"""So many finished runs of the batch itself tell more than older batches do."""
EXACT_UP_TO = 1000
"""Runs that are placed one by one; beyond it their sum is shared out among the agents."""
NEARLY_DONE = 0.1
"""Part of a typical run that one which took longer than that is thought to have left."""


@dataclass(frozen=True, kw_only=True)
class Typical:
    """Medians of `runs` finished runs; None where nothing is known."""

    seconds: float | None = None
    dollars: Decimal | None = None
    runs: int = 0
    priced: int = 0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """`seconds` None is unknown, and said so. `overdue`: what runs takes longer than it should."""

    seconds: float | None
    dollars: Decimal | None
    learned: int
    overdue: bool = False


def typical_of(workspace: Workspace, engine: str = "") -> Typical:
    """From the last completed runs of a workspace, with that engine where one is named."""
    rows = Run.objects.filter(
        batch__workspace=workspace, status=RunStatus.COMPLETED, started_at__isnull=False
    )
    if engine:
        rows = rows.filter(batch__engine=engine)
    fields = ("id", "started_at", "finished_at")
    return _typical(list(rows.order_by("-finished_at").only(*fields)[:LEARNED_FROM]))


def typical_in(batch: Batch, runs: Iterable[Run]) -> Typical:
    """From the batch's own completed runs when they are enough, else from those before it."""
    own = [run for run in runs if run.status == RunStatus.COMPLETED and run.seconds is not None]
    if len(own) >= ENOUGH:
        return _typical(own[-LEARNED_FROM:])
    before = typical_of(batch.workspace, batch.engine)
    return before if before.runs else _typical(own)


def remaining(
    batch: Batch,
    runs: Sequence[Run],
    edges: Mapping[UUID, Iterable[UUID]],
    *,
    typical: Typical,
    now: datetime,
) -> Estimate:
    """Until the last run ends. `runs` are the last ones of each task."""
    left = {node_of(run): run for run in runs if run.finished_at is None}
    if typical.seconds is None:
        return Estimate(seconds=None, dollars=None, learned=0)
    hours = {node: _left(run, typical.seconds, now) for node, run in left.items()}
    graph = {node: [d for d in edges.get(node, ()) if d in left] for node in left}
    dollars = None if typical.dollars is None else typical.dollars * len(left)
    return Estimate(
        seconds=_length(graph, hours, batch.max_parallel),
        dollars=dollars,
        learned=typical.runs,
        overdue=any(_ran(run, now) > typical.seconds for run in left.values()),
    )


def planned(graph: Mapping[UUID, Iterable[UUID]], *, agents: int, typical: Typical) -> Estimate:
    """For a batch that is not made yet."""
    if typical.seconds is None:
        return Estimate(seconds=None, dollars=None, learned=0)
    hours = dict.fromkeys(graph, typical.seconds)
    dollars = None if typical.dollars is None else typical.dollars * len(graph)
    return Estimate(seconds=_length(graph, hours, agents), dollars=dollars, learned=typical.runs)


def _length(
    graph: Mapping[UUID, Iterable[UUID]], lengths: Mapping[UUID, float], agents: int
) -> float | None:
    if len(graph) > EXACT_UP_TO:
        return sum(lengths.values()) / agents
    try:
        return forecast(graph, lengths, agents=agents).total_hours
    except CycleError:  # edges that were added since; such a batch ends otherwise
        return None


def _left(run: Run, typical_s: float, now: datetime) -> float:
    if run.started_at is None:
        return typical_s
    return max(typical_s - _ran(run, now), typical_s * NEARLY_DONE)


def _ran(run: Run, now: datetime) -> float:
    return (now - run.started_at).total_seconds() if run.started_at else 0.0


def _typical(runs: list[Run]) -> Typical:
    taken = [seconds for run in runs if (seconds := run.seconds) is not None]
    if not taken:
        return Typical()
    totals = totals_of_runs([run.id for run in runs])
    dear = [t.cost_usd for t in totals.values() if t.cost_usd is not None and not t.unpriced]
    return Typical(
        seconds=median(taken),
        dollars=median(dear) if dear else None,
        runs=len(taken),
        priced=len(dear),
    )
