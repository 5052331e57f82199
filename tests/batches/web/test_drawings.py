from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from batches.models import Batch, Stage
from batches.web.progress import WIDTH as FULL
from batches.web.progress import segments
from batches.web.timeline import NARROWEST, WIDTH, timeline
from tests.codeframe_site.rows import batch_row, run_row, workspace_row


def test_the_segments_fill_the_bar_in_order() -> None:
    batch = Batch(total=10, completed=4, failed=1, skipped=1)
    drawn = segments(batch, running=2)
    assert [(part.status, part.count) for part in drawn] == [
        ("COMPLETED", 4),
        ("FAILED", 1),
        ("SKIPPED", 1),
        ("RUNNING", 2),
        ("QUEUED", 2),
    ]
    assert drawn[0].x == 0
    assert drawn[-1].x + drawn[-1].width == pytest.approx(FULL)
    for left, right in pairwise(drawn):
        assert left.x + left.width == pytest.approx(right.x)


def test_a_batch_without_tasks_draws_nothing() -> None:
    assert segments(Batch(total=0), running=0) == []


@pytest.mark.django_db
def test_stages_lie_where_they_happened() -> None:
    run = run_row(batch_row(workspace_row()))
    Stage.objects.all().delete()
    now = timezone.now()
    began = now - timedelta(seconds=100)

    def stage(name: str, start: int, end: int | None, outcome: str) -> None:
        Stage.objects.create(
            run=run,
            name=name,
            started_at=began + timedelta(seconds=start),
            ended_at=began + timedelta(seconds=end) if end is not None else None,
            outcome=outcome,
        )

    stage("tree", 0, 0, "ok")
    stage("agent", 0, 50, "failed")
    stage("gates", 50, None, "")
    drawn = timeline([run], now=now)
    assert drawn is not None
    bars = drawn.lanes[0].bars
    assert [(bar.name, bar.tone) for bar in bars] == [
        ("tree", "good"),
        ("agent", "bad"),
        ("gates", "busy"),
    ]
    assert bars[0].width == NARROWEST
    assert (bars[1].x, bars[1].width) == (0, WIDTH / 2)
    assert bars[2].x + bars[2].width == pytest.approx(WIDTH)
    assert drawn.took == "1 min 40 s"


@pytest.mark.django_db
def test_no_timeline_before_anything_began() -> None:
    run = run_row(batch_row(workspace_row()))
    Stage.objects.all().delete()
    assert timeline([run], now=timezone.now()) is None
