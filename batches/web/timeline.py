"""Stages of many runs on one time axis, ready to be drawn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from batches.models import Run, Stage
from batches.models.stage import StageOutcome
from batches.terminal.states import seconds

WIDTH = 1000
"""The axis in units of the drawing."""
NARROWEST = 2.0

TONES = {
    StageOutcome.OK: "good",
    StageOutcome.FAILED: "bad",
    StageOutcome.INTERRUPTED: "quiet",
}


@dataclass(frozen=True, kw_only=True)
class Bar:
    x: float
    width: float
    name: str
    tone: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Lane:
    run: Run
    bars: list[Bar]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    lanes: list[Lane]
    took: str


def timeline(runs: Sequence[Run], *, now: datetime) -> Timeline | None:
    """None while no stage has begun. `runs` carry their stages prefetched."""
    stages = [stage for run in runs for stage in run.stages.all()]
    if not stages:
        return None
    begin = min(stage.started_at for stage in stages)
    end = max(stage.ended_at or now for stage in stages)
    axis = max((end - begin).total_seconds(), 0.001)
    lanes = [Lane(run=run, bars=_bars(run.stages.all(), begin, now, axis)) for run in runs]
    return Timeline(lanes=[lane for lane in lanes if lane.bars], took=seconds(axis))


def _bars(stages: Iterable[Stage], begin: datetime, now: datetime, axis: float) -> list[Bar]:
    return [_bar(stage, begin, now, axis) for stage in stages]


def _bar(stage: Stage, begin: datetime, now: datetime, axis: float) -> Bar:
    took = max(0.0, ((stage.ended_at or now) - stage.started_at).total_seconds())
    x = (stage.started_at - begin).total_seconds() / axis * WIDTH
    width = max(NARROWEST, took / axis * WIDTH)
    return Bar(
        x=round(min(x, WIDTH - NARROWEST), 1),
        width=round(width, 1),
        name=stage.name,
        tone=TONES.get(StageOutcome(stage.outcome), "quiet") if stage.outcome else "busy",
        title=f"{stage.name} {seconds(took)} {stage.outcome or 'under way'}",
    )
