"""The stages of one run on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from batches.models import Stage
from batches.models.stage import StageOutcome
from batches.terminal.states import seconds

WIDTH = 1000
NARROWEST = 3.0
TONES = {
    StageOutcome.OK: "good",
    StageOutcome.FAILED: "bad",
    StageOutcome.INTERRUPTED: "quiet",
}
AHEAD = ("tree", "agent", "capture", "vet", "gates", "integrate")
"""What a run goes through, so that the stages still to come are shown too."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """`stage` is None for one that has not begun."""

    name: str
    stage: Stage | None = None
    x: float = 0.0
    width: float = 0.0
    tone: str = "quiet"
    title: str = ""


def steps(stages: Sequence[Stage], *, live: bool, now: datetime) -> list[Step]:
    if stages:
        begin = min(stage.started_at for stage in stages)
        end = max(stage.ended_at or now for stage in stages)
        axis = max((end - begin).total_seconds(), 0.001)
        drawn = [_step(stage, begin, now, axis) for stage in stages]
    else:
        drawn = []
    if not live:
        return drawn
    begun = {step.name for step in drawn}
    last = max((AHEAD.index(name) for name in begun if name in AHEAD), default=-1)
    return drawn + [Step(name=name) for name in AHEAD[last + 1 :]]


def _step(stage: Stage, begin: datetime, now: datetime, axis: float) -> Step:
    took = max(0.0, ((stage.ended_at or now) - stage.started_at).total_seconds())
    x = (stage.started_at - begin).total_seconds() / axis * WIDTH
    return Step(
        name=stage.name,
        stage=stage,
        x=round(min(x, WIDTH - NARROWEST), 1),
        width=round(max(NARROWEST, took / axis * WIDTH), 1),
        tone=TONES.get(StageOutcome(stage.outcome), "quiet") if stage.outcome else "busy",
        title=f"{stage.name} {seconds(took)} {stage.outcome or 'under way'}",
    )
