"""How far a batch is, as the segments of one bar."""

from dataclasses import dataclass

from batches.models import Batch
from batches.models.run import RunStatus

WIDTH = 1000


@dataclass(frozen=True, kw_only=True)
class Segment:
    status: RunStatus
    count: int
    x: float
    width: float


def segments(batch: Batch, *, running: int) -> list[Segment]:
    """In the order of the bar; states without a run are left out."""
    counts = {
        RunStatus.COMPLETED: batch.completed,
        RunStatus.FAILED: batch.failed,
        RunStatus.BLOCKED: batch.blocked,
        RunStatus.SKIPPED: batch.skipped,
        RunStatus.CANCELLED: batch.cancelled,
        RunStatus.RUNNING: running,
    }
    counts[RunStatus.QUEUED] = max(0, batch.total - sum(counts.values()))
    unit = WIDTH / max(1, sum(counts.values()))
    drawn: list[Segment] = []
    x = 0.0
    for status, count in counts.items():
        if count:
            drawn.append(Segment(status=status, count=count, x=x, width=count * unit))
            x += count * unit
    return drawn
