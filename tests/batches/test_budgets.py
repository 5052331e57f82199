"""Caps on money: what they stop, when, and that what was spent is never forgotten."""

from decimal import Decimal
from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from batches.caps import change_caps
from batches.errors import InvalidOptions, InvalidState
from batches.models import Run
from batches.resuming import resume
from batches.spending import account_of, halt_of
from costs.budgets import set_cap
from costs.models import BudgetScope, Usage
from costs.sums import add, changes_of
from tasks.models import Event, Task, Workspace
from tests.batches.conducting import event_types, kept, reasons, run_batch, statuses, task_status
from tests.batches.spender import price_model, spending, spent
from tests.costs.charging import charge
from tests.factories import make_batch, make_task, make_workspace, options

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    price_model()
    return make_workspace(tmp_path)


def started(batch_runs: object = None) -> int:
    return Run.objects.exclude(started_at=None).count()


def test_a_hard_cap_reached_at_the_third_task_of_fifty_stops_the_batch(
    workspace: Workspace,
) -> None:
    for number in range(50):
        make_task(workspace, f"t{number}")
    batch = make_batch(
        workspace, max_parallel=3, budget=Decimal(3), allow_unpriced=True, gates="none"
    )
    run_batch(batch, attempt=spending("1"))
    assert 3 <= started() <= 3 + 3
    assert 3 <= spent(batch) <= 3 + 3
    assert batch.status != "COMPLETED"
    assert batch.reason == "budget"
    assert "$3.00" in batch.message
    assert event_types(batch).count("BATCH_BUDGET") == 1
    never = Run.objects.filter(batch=batch, started_at=None)
    assert set(never.values_list("status", "reason")) == {("SKIPPED", "budget")}


def test_a_hard_cap_stops_what_runs_and_keeps_its_work(workspace: Workspace) -> None:
    task = make_task(workspace, "long", "write part.txt x")
    batch = make_batch(workspace, budget=Decimal(2), allow_unpriced=True)
    run_batch(batch, attempt=spending("1", calls=50))
    assert spent(batch) == 2
    assert (statuses(batch), reasons(batch)) == ({"long": "CANCELLED"}, {"long": "budget"})
    assert (batch.status, batch.reason) == ("CANCELLED", "budget")
    assert task_status(task) == "READY"


def test_a_soft_cap_lets_what_runs_end(workspace: Workspace) -> None:
    first = make_task(workspace, "first", priority=0)
    make_task(workspace, "second", after=[first])
    batch = make_batch(workspace, soft_budget=Decimal(1), allow_unpriced=True)
    run_batch(batch, attempt=spending("1", calls=3))
    assert statuses(batch) == {"first": "COMPLETED", "second": "SKIPPED"}
    assert (batch.status, batch.reason, spent(batch)) == ("PARTIAL", "budget", 3)


def test_a_cap_for_each_task_stops_that_task_alone(workspace: Workspace) -> None:
    make_task(workspace, "a")
    b = make_task(workspace, "b")
    set_cap(BudgetScope.TASK, b.id, Decimal(1))
    batch = make_batch(workspace, allow_unpriced=True)
    run_batch(batch, attempt=spending("1", calls=2))
    assert statuses(batch) == {"a": "COMPLETED", "b": "CANCELLED"}
    assert (batch.status, spent(batch)) == ("PARTIAL", 3)


def test_what_a_task_spent_in_earlier_batches_counts(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "exit 1")
    batch = make_batch(workspace, task_budget=Decimal(1), allow_unpriced=True)
    run_batch(batch, attempt=spending("0.6"))
    again = make_batch(workspace, [task], task_budget=Decimal("0.5"), allow_unpriced=True)
    run_batch(again, attempt=spending("0.6"))
    assert (statuses(again), started()) == ({"a": "SKIPPED"}, 1)
    assert again.reason == "budget"


@pytest.mark.parametrize("scope", [BudgetScope.DAY, BudgetScope.MONTH])
def test_a_workspaces_cap_holds_over_all_its_batches(
    workspace: Workspace, scope: BudgetScope
) -> None:
    set_cap(scope, workspace.id, Decimal(2))
    for name in ("a", "b", "c"):
        task = make_task(workspace, name)
        batch = make_batch(workspace, [task], allow_unpriced=True)
        run_batch(batch, attempt=spending("1"))
    assert (batch.status, batch.reason, started()) == ("CANCELLED", "budget", 2)


def test_raising_a_cap_and_resuming_goes_on_with_the_sum_kept(workspace: Workspace) -> None:
    for name in ("a", "b", "c", "d"):
        make_task(workspace, name)
    batch = make_batch(workspace, max_parallel=1, budget=Decimal(2), allow_unpriced=True)
    run_batch(batch, attempt=spending("1"))
    before = spent(batch)
    with pytest.raises(InvalidState, match="Raise it"):
        resume(batch=batch, send=False)
    resume(batch=batch, caps={"budget": Decimal(10)}, send=False)
    run_batch(batch, attempt=spending("1"))
    assert (batch.status, batch.reason) == ("COMPLETED", "")
    assert spent(batch) > before
    assert spent(batch) == Usage.objects.filter(batch_id=batch.id).count()


def test_a_cap_raised_while_it_runs_holds_for_the_next_launch(workspace: Workspace) -> None:
    a = make_task(workspace, "a")
    make_task(workspace, "b", after=[a])
    batch = make_batch(workspace, soft_budget=Decimal(1), allow_unpriced=True)
    attempt = spending("1")

    def raising(context: object) -> object:
        result = attempt(context)  # type: ignore[arg-type]
        change_caps(batch.id, {"soft_budget": Decimal(9)}, by="me")
        return result

    run_batch(batch, attempt=raising)
    assert batch.status == "COMPLETED"
    changed = Event.objects.filter(batch_id=batch.id, type="BATCH_BUDGET").first()
    assert changed
    assert changed.payload == {"changed": {"soft_budget": 9.0}, "by": "me"}


def test_an_unpriced_call_under_a_cap_stops_what_cannot_be_counted(workspace: Workspace) -> None:
    make_task(workspace, "a")
    make_task(workspace, "b")
    batch = make_batch(workspace, max_parallel=1, budget=Decimal(5), allow_unpriced=True)
    batch.allow_unpriced = False
    batch.save(update_fields=["allow_unpriced"])
    run_batch(batch, attempt=spending("1", model="nobody-knows"))
    assert statuses(batch) == {"a": "CANCELLED", "b": "SKIPPED"}
    assert "price" in batch.message


def test_a_cap_that_could_never_fire_is_refused(workspace: Workspace) -> None:
    """Fault of others: an unknown model costs 0 dollars, and its cap is never reached."""
    make_task(workspace, "a")
    with pytest.raises(InvalidOptions, match="does not report"):
        make_batch(workspace, budget=Decimal(1))
    usage = {"input": "usage.input"}
    known = options().engine_options | {"usage": usage}
    with pytest.raises(InvalidOptions, match="without a model"):
        make_batch(workspace, budget=Decimal(1), engine_options=known)
    with pytest.raises(InvalidOptions, match="no price is known"):
        make_batch(workspace, budget=Decimal(1), engine_options=known, model="nobody-knows")
    set_cap(BudgetScope.DAY, workspace.id, Decimal(1))
    with pytest.raises(InvalidOptions, match="the workspace has a spending limit"):
        make_batch(workspace)
    assert make_batch(workspace, budget=Decimal(1), engine_options=known, model="tester")


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "Infinity", "0.00001", "10000000"])
def test_amounts_that_are_none_are_refused(workspace: Workspace, amount: str) -> None:
    make_task(workspace, "a")
    with pytest.raises(InvalidOptions, match="budget: must"):
        make_batch(workspace, budget=Decimal(amount), allow_unpriced=True)


def test_a_check_is_one_query_whatever_was_spent(
    workspace: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_task(workspace, "a")
    batch = make_batch(
        workspace,
        budget=Decimal(9000),
        soft_budget=Decimal(8000),
        task_budget=Decimal(7),
        allow_unpriced=True,
    )
    set_cap(BudgetScope.DAY, workspace.id, Decimal(10**5))
    set_cap(BudgetScope.MONTH, workspace.id, Decimal(10**5))
    run = Run.objects.get(batch=batch)
    account = account_of(batch, run)
    for times in (1, 200):
        for _ in range(times):
            charge(account, "0.01")
        with django_assert_num_queries(1):
            assert halt_of(batch, run) is None
    charge(account, "6")
    halt = halt_of(batch, run)
    assert halt
    assert halt.of_task
    row = Usage.objects.order_by("-at").first()
    assert row
    row.cost_usd = Decimal(9000)
    add(changes_of(row, "UTC"))
    halt = halt_of(batch, run)
    assert halt
    assert halt.hard
    assert not halt.of_task


def test_an_agent_at_work_is_stopped_by_the_call_that_reaches_the_cap(
    workspace: Workspace,
) -> None:
    """A real process that would go on for a minute; what it wrote by then is captured."""
    chosen = options().engine_options | {"usage": {"cost": "cost"}}
    told = "print '{\"cost\": 1.5}'"
    task = make_task(workspace, "spender", "write part.txt x", told, told, "sleep 60", told)
    batch = make_batch(workspace, budget=Decimal(3), engine_options=chosen, timeout_s=50)
    run_batch(batch)
    run = Run.objects.get(task=task)
    assert (run.status, run.reason, spent(batch)) == ("CANCELLED", "budget", 3)
    assert kept(run, "part.txt") == "x"
    assert (run.finished_at - run.started_at).total_seconds() < 30  # type: ignore[operator]
    resume(batch=batch, caps={"budget": Decimal(20)}, send=False)
    Task.objects.filter(id=task.id).update(description=f"agent:\n{told}\nwrite part.txt y\n")
    run_batch(batch)
    assert (batch.status, spent(batch)) == ("COMPLETED", Decimal("4.5"))
