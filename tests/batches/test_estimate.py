from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from batches.estimate import Typical, planned, remaining, typical_in, typical_of
from batches.models import Run
from costs.ledger import Account
from tasks.models import Task
from tests.batches.web.rows import past_run
from tests.codeframe_site.rows import batch_row, workspace_row
from tests.costs.charging import charge

pytestmark = pytest.mark.django_db
NOW = timezone.now()
BEGIN = NOW - timedelta(seconds=1000)


def paid(run: Run, dollars: str | None) -> None:
    account = Account(workspace_id=run.batch.workspace_id, run_id=run.id, batch_id=run.batch_id)
    charge(account, dollars, call_id=str(run.id))


def test_nothing_is_known_before_a_run_has_completed() -> None:
    batch = batch_row(workspace_row(), "RUNNING", max_parallel=2)
    run = past_run(batch, BEGIN, 990, None)
    typical = typical_in(batch, [])
    assert typical == Typical()
    assert remaining(batch, [run], {}, typical=typical, now=NOW).seconds is None


def test_what_is_typical_is_the_median_of_past_runs_and_of_their_known_prices() -> None:
    batch = batch_row(workspace_row())
    runs = [past_run(batch, BEGIN, 0, end) for end in (10, 20, 600)]
    for run, dollars in zip(runs, ("0.10", "0.30", None), strict=True):
        paid(run, dollars)
    found = typical_of(batch.workspace, "command")
    assert (found.seconds, found.dollars, found.runs, found.priced) == (20, Decimal("0.20"), 3, 2)
    assert typical_of(batch.workspace, "another") == Typical()


def test_a_batch_with_enough_runs_of_its_own_is_measured_by_those() -> None:
    workspace = workspace_row()
    old = batch_row(workspace)
    past_run(old, BEGIN, 0, 500)
    batch = batch_row(workspace, "RUNNING")
    own = [past_run(batch, BEGIN, 0, 10) for _ in range(2)]
    assert typical_in(batch, own).runs == 3  # the workspace's, this batch's too
    own.append(past_run(batch, BEGIN, 0, 10))
    assert typical_in(batch, own).seconds == 10


def test_the_rest_takes_as_long_as_its_chain_or_its_slots_allow() -> None:
    workspace = workspace_row()
    batch = batch_row(workspace, "RUNNING", max_parallel=2)
    tasks = [Task.objects.create(workspace=workspace, title=str(n)) for n in range(4)]
    runs = [
        past_run(batch, NOW, -40, None, task=tasks[0]),
        *(
            Run.objects.create(batch=batch, task=task, title=task.title, position=place)
            for place, task in enumerate(tasks[1:], start=1)
        ),
    ]
    typical = Typical(seconds=60, dollars=Decimal("0.5"), runs=9)
    free = remaining(batch, runs, {}, typical=typical, now=NOW)
    assert free.seconds == pytest.approx(120)  # 60 + 60 in one slot, 20 + 60 in the other
    assert (free.dollars, free.learned, free.overdue) == (Decimal("2.0"), 9, False)
    chain = {tasks[n].id: [tasks[n - 1].id] for n in (1, 2, 3)}
    assert remaining(batch, runs, chain, typical=typical, now=NOW).seconds == pytest.approx(200)


def test_a_run_that_takes_longer_than_usual_is_said() -> None:
    batch = batch_row(workspace_row(), "RUNNING", max_parallel=1)
    run = past_run(batch, NOW, -90, None)
    found = remaining(batch, [run], {}, typical=Typical(seconds=60, runs=3), now=NOW)
    assert found.overdue
    assert found.seconds == pytest.approx(6)


def test_ten_thousand_tasks_are_estimated_at_once() -> None:
    graph: dict[object, list[object]] = {n: [] for n in range(10_000)}
    found = planned(graph, agents=10, typical=Typical(seconds=60, runs=1))  # type: ignore[arg-type]
    assert found.seconds == pytest.approx(60_000)
