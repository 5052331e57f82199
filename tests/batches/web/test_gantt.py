from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from batches.models import Run, Stage
from batches.web.gantt import NARROWEST, WIDTH, Gantt, gantt
from tasks.models import Task
from tests.batches.web.rows import past_run
from tests.codeframe_site.rows import batch_row, workspace_row

pytestmark = pytest.mark.django_db
NOW = timezone.now()
BEGIN = NOW - timedelta(seconds=100)


def drawn(
    runs: list[Run], edges: dict[object, list[object]] | None = None, now: datetime = NOW
) -> Gantt:
    found = gantt(runs, edges=edges or {}, stages={}, now=now)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_runs_lie_where_they_happened_in_as_many_lanes_as_ran_at_once() -> None:
    batch = batch_row(workspace_row())
    spans = [(0, 40), (0, 60), (40, 50), (60, None)]
    found = drawn([past_run(batch, BEGIN, start, end) for start, end in spans])
    assert [(bar.lane, bar.x, bar.width) for bar in found.bars] == [
        (1, 0, 400),
        (2, 0, 600),
        (1, 400, 100),
        (1, 600, 400),
    ]
    assert (found.lanes, found.took) == (2, "1 min 40 s")


def test_the_longest_chain_of_dependent_tasks_is_marked() -> None:
    workspace = workspace_row()
    batch = batch_row(workspace)
    first, short, long, last = (
        Task.objects.create(workspace=workspace, title=name)
        for name in ("first", "short", "long", "last")
    )
    runs = [
        past_run(batch, BEGIN, 0, 10, task=first),
        past_run(batch, BEGIN, 10, 15, task=short),
        past_run(batch, BEGIN, 10, 40, task=long),
        past_run(batch, BEGIN, 40, 60, task=last),
    ]
    edges = {short.id: [first.id], long.id: [first.id], last.id: [short.id, long.id]}
    found = drawn(runs, edges)  # type: ignore[arg-type]
    assert [bar.run.title for bar in found.bars if bar.critical] == ["first", "long", "last"]
    assert found.critical == "1 min 00 s"


def test_a_cycle_that_was_drawn_later_does_not_break_the_picture() -> None:
    workspace = workspace_row()
    one, two = (Task.objects.create(workspace=workspace, title=name) for name in "ab")
    batch = batch_row(workspace)
    runs = [past_run(batch, BEGIN, 0, 9, task=one), past_run(batch, BEGIN, 9, 20, task=two)]
    found = drawn(runs, {one.id: [two.id], two.id: [one.id]})
    assert not any(bar.critical for bar in found.bars)


def test_stages_are_shaded_but_for_the_agent_itself() -> None:
    run = past_run(batch_row(workspace_row()), BEGIN, 0, 100)
    stages = [
        Stage(run=run, name=name, started_at=BEGIN + timedelta(seconds=a), ended_at=BEGIN + d)
        for name, a, d in (
            ("tree", 0, timedelta(seconds=10)),
            ("agent", 10, timedelta(seconds=90)),
            ("gates", 90, timedelta(seconds=100)),
        )
    ]
    found = gantt([run], edges={}, stages={run.id: stages}, now=NOW)
    assert found is not None
    assert [(s.name, s.x, s.width) for s in found.bars[0].shades] == [
        ("tree", 0, 100),
        ("gates", 900, 100),
    ]


def test_nothing_is_too_short_or_outside_and_a_clock_set_back_does_no_harm() -> None:
    batch = batch_row(workspace_row())
    runs = [past_run(batch, BEGIN, 0, 100), past_run(batch, BEGIN, 100, 99)]
    for bar in drawn(runs).bars:
        assert bar.width >= NARROWEST
        assert bar.x + NARROWEST <= WIDTH


def test_no_picture_before_anything_began() -> None:
    assert gantt([], edges={}, stages={}, now=NOW) is None
