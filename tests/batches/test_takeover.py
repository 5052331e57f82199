"""A second owner of a batch: what it goes on with, and what the first may still write."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from batches import lease as leases
from batches import lifecycle, recovery
from batches.errors import Fenced
from batches.jobs import execute_batch
from batches.lease import Lease
from batches.models import Batch, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from batches.reasons import Reason
from batches.results import completed, failed
from tasks.models import Event, TaskDependency, Workspace
from tests.batches.conducting import (
    conducting,
    counters,
    event_types,
    final_events,
    last_run,
    lines,
    run_batch,
    statuses,
    stop,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def claim(batch: Batch, owner: str = "first") -> Lease:
    lease = lifecycle.claim_batch(batch_id=batch.id, owner=owner)
    assert lease
    return lease


def let_the_lease_run_out(batch: Batch) -> None:
    Batch.objects.filter(id=batch.id).update(lease_expires_at=Now() - timedelta(seconds=1))


def leave_in_the_middle(batch: Batch, began: Path) -> None:
    """A worker that goes away while an agent of the batch runs on."""
    leave = threading.Event()
    with conducting(batch, leave=leave):
        wait_until(began.exists)
        leave.set()


def test_a_batch_whose_lease_ran_out_is_finished_by_the_next_owner(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Fault 17, case 2: after a restart it stayed RUNNING for ever, and blocked the workspace."""
    make_task(workspace, "a")
    batch = make_batch(workspace)
    claim(batch)
    assert not execute_batch(batch.id)
    let_the_lease_run_out(batch)
    assert recovery.unowned() == [batch]
    run_batch(batch)
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    assert event_types(batch, prefix="BATCH_")[1:3] == ["BATCH_STARTED", "BATCH_TAKEN_OVER"]
    assert final_events(batch) == ["BATCH_COMPLETED"]


def test_a_living_agent_is_adopted_and_not_started_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    task = make_task(
        workspace,
        "a",
        f"count {tmp_path}/starts",
        "print before",
        f"touch {began}",
        f"wait-file {go}",
        "print behind",
        "write a.txt x",
    )
    batch = make_batch(workspace)
    leave_in_the_middle(batch, began)
    assert (batch.status, batch.lease_owner, task_status(task)) == ("RUNNING", "", "IN_PROGRESS")
    go.touch()
    run_batch(batch)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 1})
    assert len(lines(tmp_path / "starts")) == 1
    assert Run.objects.count() == 1
    assert Event.objects.filter(type="RUN_STARTED").count() == 1
    printed = Event.objects.filter(type="RUN_OUTPUT").order_by("seq")
    assert "".join(event.payload["text"] for event in printed) == "before\nbehind\n"


def test_a_cancel_without_an_owner_is_carried_out_by_the_next(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Case 26: the stop failed after a restart, since the process was not known any more."""
    began = tmp_path / "began"
    make_task(workspace, "a", f"touch {began}", "sleep 300")
    make_task(workspace, "b", f"count {tmp_path}/starts", priority=1)
    batch = make_batch(workspace, max_parallel=1)
    leave_in_the_middle(batch, began)
    stop(batch)
    run_batch(batch)
    assert statuses(batch) == {"a": "CANCELLED", "b": "CANCELLED"}
    assert batch.status == "CANCELLED"
    assert not (tmp_path / "starts").exists()


def test_a_run_under_way_is_adopted_although_a_dependency_was_added_meanwhile(
    workspace: Workspace, tmp_path: Path
) -> None:
    """It would wait for its turn, find itself started, and stay RUNNING for ever."""
    began, go = tmp_path / "began", tmp_path / "go"
    a = make_task(workspace, "a", f"touch {began}", f"wait-file {go}", "write a.txt x")
    b = make_task(workspace, "b", f"touch {go}", "write b.txt x", priority=1)
    batch = make_batch(workspace, max_parallel=1)
    leave_in_the_middle(batch, began)
    TaskDependency.objects.create(task=a, depends_on=b)
    go.touch()
    run_batch(batch)
    assert statuses(batch) == {"a": "COMPLETED", "b": "COMPLETED"}
    assert batch.status == "COMPLETED"


def test_only_the_newest_owner_may_conduct(
    workspace: Workspace, tmp_path: Path, settings: Settings
) -> None:
    """Case 21: a late heartbeat made two owners. The first one wakes up and finds itself fenced."""
    settings.HEARTBEAT_SECONDS = 1000
    began, go = tmp_path / "began", tmp_path / "go"
    make_task(
        workspace,
        "a",
        f"count {tmp_path}/starts",
        f"touch {began}",
        f"wait-file {go}",
        "write a.txt x",
    )
    batch = make_batch(workspace)
    with conducting(batch) as first:
        wait_until(began.exists)
        let_the_lease_run_out(batch)
        with conducting(batch) as second:
            wait_until(lambda: not first.is_alive(), "the first to leave")
            go.touch()
    assert (first.claimed, second.claimed) == (True, True)
    assert (batch.status, batch.fence) == ("COMPLETED", 2)
    assert len(lines(tmp_path / "starts")) == 1
    assert final_events(batch) == ["BATCH_COMPLETED"]
    assert Event.objects.filter(type="RUN_COMPLETED").count() == 1


WRITES: dict[str, Callable[[Lease, Run], object]] = {
    "start": lambda lease, run: lifecycle.start_run(lease=lease, run=run),
    "finish": lambda lease, run: lifecycle.finish_run(lease=lease, run=run, result=completed()),
    "retry": lambda lease, run: lifecycle.retry_run(
        lease=lease, run=run, result=failed(Reason.TIMEOUT), delay_s=0
    ),
    "drop": lambda lease, run: lifecycle.drop_runs(
        lease=lease, runs=[run], status=RunStatus.SKIPPED, reason=Reason.TASK_MOVED
    ),
    "close": lambda lease, run: lifecycle.finish_batch(lease=lease, status=BatchStatus.COMPLETED),
    "fail": lambda lease, run: lifecycle.fail_batch(lease=lease, message="broke"),
    "renew": lambda lease, run: leases.renew(lease),
    "read": lambda lease, run: leases.read_orders(lease),
}


@pytest.mark.parametrize("write", WRITES)
def test_an_owner_that_was_overtaken_writes_nothing(workspace: Workspace, write: str) -> None:
    make_task(workspace, "a")
    batch = make_batch(workspace)
    first = claim(batch)
    let_the_lease_run_out(batch)
    second = claim(batch, "second")
    assert second.fence == first.fence + 1
    run = Run.objects.get()
    if write in ("finish", "retry"):
        assert lifecycle.start_run(lease=second, run=run)
    before = list(Batch.objects.values()), list(Run.objects.values()), Event.objects.count()
    with pytest.raises(Fenced):
        WRITES[write](first, run)
    assert (
        list(Batch.objects.values()),
        list(Run.objects.values()),
        Event.objects.count(),
    ) == before


def test_letting_go_of_a_batch_that_another_owns_changes_nothing(workspace: Workspace) -> None:
    make_task(workspace, "a")
    batch = make_batch(workspace)
    first = claim(batch)
    let_the_lease_run_out(batch)
    claim(batch, "second")
    leases.release(first)
    batch.refresh_from_db()
    assert batch.lease_owner == "second"
    assert batch.lease_expires_at
    assert batch.lease_expires_at > timezone.now()


def test_a_lease_that_runs_is_not_taken_over(workspace: Workspace) -> None:
    make_task(workspace, "a")
    batch = make_batch(workspace)
    claim(batch)
    assert lifecycle.claim_batch(batch_id=batch.id, owner="second") is None
    assert recovery.unowned() == []


def test_what_a_failure_skips_is_skipped_by_the_next_owner(workspace: Workspace) -> None:
    """The first owner died between the failure and the skips it causes."""
    a = make_task(workspace, "a")
    make_task(workspace, "b", after=[a])
    batch = make_batch(workspace)
    lease = claim(batch)
    run = last_run(a)
    assert lifecycle.start_run(lease=lease, run=run)
    lifecycle.finish_run(lease=lease, run=run, result=failed(Reason.TIMEOUT))
    let_the_lease_run_out(batch)
    run_batch(batch)
    assert (batch.status, counters(batch)) == ("FAILED", {"failed": 1, "skipped": 1})
