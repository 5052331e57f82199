"""What waits for what, and what becomes of those that wait in vain."""

from pathlib import Path

import pytest

from batches.options import BatchOptions
from tasks.models import Event, TaskDependency, Workspace
from tasks.models.task import TaskStatus
from tests.batches.conducting import (
    conducting,
    conflicting,
    counters,
    last_run,
    lines,
    reasons,
    run_batch,
    run_into_conflict,
    statuses,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
SERIAL_AND_PARALLEL = pytest.mark.parametrize("strategy", ["serial", "parallel"])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@SERIAL_AND_PARALLEL
def test_dependencies_hold_in_every_strategy(
    workspace: Workspace, tmp_path: Path, strategy: str
) -> None:
    """Fault 2: serial ran the list in its order. Here the first in order depends on the last."""
    order = tmp_path / "order"
    c = make_task(workspace, "c", f"append {order} c", "write c.txt c", priority=9)
    b = make_task(workspace, "b", f"append {order} b", "write b.txt b", priority=5, after=[c])
    a = make_task(workspace, "a", f"append {order} a", "write a.txt a", priority=0, after=[b])
    batch = run_batch(make_batch(workspace, [a, b, c], strategy=strategy, max_parallel=3))
    assert batch.status == "COMPLETED"
    assert lines(order) == ["c", "b", "a"]


def test_serial_is_one_at_a_time_whatever_was_asked_for() -> None:
    assert BatchOptions(strategy="serial", max_parallel=8).fields()["max_parallel"] == 1


@SERIAL_AND_PARALLEL
def test_what_depends_on_a_failed_task_is_skipped_at_once_with_an_event(
    workspace: Workspace, tmp_path: Path, strategy: str
) -> None:
    """Fault 1: dependents of a failed task were started all the same."""
    starts = tmp_path / "starts"
    a = make_task(workspace, "a", "exit 3")
    b = make_task(workspace, "b", f"count {starts}", after=[a])
    c = make_task(workspace, "c", f"count {starts}", after=[b])
    d = make_task(workspace, "d", "write d.txt d")
    batch = run_batch(make_batch(workspace, strategy=strategy))

    assert statuses(batch) == {"a": "FAILED", "b": "SKIPPED", "c": "SKIPPED", "d": "COMPLETED"}
    assert reasons(batch)["b"] == reasons(batch)["c"] == "dependency_failed"
    assert batch.status == "PARTIAL"
    assert counters(batch) == {"completed": 1, "failed": 1, "skipped": 2}
    assert not starts.exists()
    skipped = Event.objects.filter(batch_id=batch.id, type="RUN_SKIPPED")
    assert set(skipped.values_list("task_id", flat=True)) == {b.id, c.id}
    assert [task_status(task) for task in (a, b, c)] == ["FAILED", "READY", "READY"]
    assert task_status(d) == "MERGED"


def test_a_dependent_of_two_waits_for_both_and_is_skipped_once(workspace: Workspace) -> None:
    a = make_task(workspace, "a", "exit 1")
    b = make_task(workspace, "b", "exit 1")
    make_task(workspace, "c", after=[a, b])
    batch = run_batch(make_batch(workspace))
    assert statuses(batch) == {"a": "FAILED", "b": "FAILED", "c": "SKIPPED"}
    assert batch.status == "FAILED"
    assert Event.objects.filter(type="RUN_SKIPPED").count() == 1


def test_dependents_of_a_blocked_task_are_skipped(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 1: BLOCKED did not stop them either."""
    first, second = conflicting(workspace, tmp_path)
    make_task(workspace, "third", after=[second])
    batch = make_batch(workspace)
    run_into_conflict(batch, first, tmp_path)
    assert statuses(batch) == {"first": "COMPLETED", "second": "BLOCKED", "third": "SKIPPED"}
    assert reasons(batch)["third"] == "dependency_failed"
    assert counters(batch) == {"completed": 1, "blocked": 1, "skipped": 1}


def test_there_is_no_barrier_between_levels(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 82: a task of the second level waited for the slowest of the first.

    Here the slow one ends only after the unrelated second-level task has: a barrier would hang.
    """
    done = tmp_path / "second-level-done"
    slow = make_task(workspace, "slow", f"wait-file {done} 150", "write slow.txt x", priority=0)
    fast = make_task(workspace, "fast", "write fast.txt x", priority=1)
    after = [fast]
    second = make_task(workspace, "second", f"touch {done}", "touch x", after=after, priority=2)
    batch = run_batch(make_batch(workspace, max_parallel=2))
    assert set(statuses(batch).values()) == {"COMPLETED"}
    slow_ended, second_started = last_run(slow).finished_at, last_run(second).started_at
    assert slow_ended
    assert second_started
    assert second_started < slow_ended


def test_a_dependent_starts_on_what_its_dependency_left(workspace: Workspace) -> None:
    a = make_task(workspace, "a", "write a.txt from-a")
    make_task(workspace, "b", "sh cat a.txt > seen.txt", after=[a])
    run_batch(make_batch(workspace))
    assert (Path(workspace.repo_path) / "seen.txt").read_text() == "from-a\n"


def test_a_finished_batch_leaves_every_edge_as_it_was(workspace: Workspace) -> None:
    """Regression: edges a model had proposed wiped the manual ones."""
    a, b, c = (make_task(workspace, title) for title in "abc")
    TaskDependency.objects.create(task=b, depends_on=a)
    TaskDependency.objects.create(task=c, depends_on=b, origin=TaskDependency.Origin.MODEL)
    before = list(TaskDependency.objects.order_by("id").values())
    batch = run_batch(make_batch(workspace))
    assert batch.status == "COMPLETED"
    assert list(TaskDependency.objects.order_by("id").values()) == before


def test_a_task_finished_by_someone_else_meanwhile_counts_for_its_dependents(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Its own run is not needed any more; what waits for it goes on."""
    go = tmp_path / "go"
    first = make_task(workspace, "first", f"wait-file {go}", "write first.txt x", priority=0)
    other = make_task(workspace, "other", f"count {tmp_path}/starts", priority=1)
    make_task(workspace, "next", after=[other], priority=2)
    batch = make_batch(workspace, max_parallel=1)
    with conducting(batch):
        wait_until(lambda: task_status(first) == "IN_PROGRESS")
        type(other).objects.filter(id=other.id).update(status=TaskStatus.DONE)
        go.touch()
    assert statuses(batch) == {"first": "COMPLETED", "other": "SKIPPED", "next": "COMPLETED"}
    assert reasons(batch)["other"] == "task_moved"
    assert not (tmp_path / "starts").exists()


def test_a_task_someone_took_back_is_skipped_with_its_dependents(
    workspace: Workspace, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first = make_task(workspace, "first", f"wait-file {go}", "write first.txt x", priority=0)
    other = make_task(workspace, "other", f"count {tmp_path}/starts", priority=1)
    make_task(workspace, "next", after=[other], priority=2)
    batch = make_batch(workspace, max_parallel=1)
    with conducting(batch):
        wait_until(lambda: task_status(first) == "IN_PROGRESS")
        type(other).objects.filter(id=other.id).update(status=TaskStatus.BACKLOG)
        go.touch()
    assert statuses(batch) == {"first": "COMPLETED", "other": "SKIPPED", "next": "SKIPPED"}
    assert not (tmp_path / "starts").exists()
    assert task_status(other) == "BACKLOG"


def test_a_good_run_completes_although_its_task_was_set_done_meanwhile(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Regression: DONE to DONE failed a good run."""
    go = tmp_path / "go"
    task = make_task(workspace, "a", f"wait-file {go}", "write a.txt x")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: task_status(task) == "IN_PROGRESS")
        type(task).objects.filter(id=task.id).update(status=TaskStatus.DONE)
        go.touch()
    assert (batch.status, last_run(task).status) == ("COMPLETED", "COMPLETED")
    assert task_status(task) == "MERGED"
