"""Order, parallelism and the stop at the first failure."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from batches.models import Run
from tasks.models import Task, Workspace
from tests.batches.conducting import counters, lines, reasons, run_batch, statuses
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def tasks_that_log(workspace: Workspace, log: Path, count: int) -> list[Task]:
    return [
        make_task(
            workspace,
            f"t{n}",
            f"append {log} +",
            "sleep 0.05",
            f"write t{n}.txt x",
            f"append {log} -",
        )
        for n in range(count)
    ]


def most_at_once(log: Iterable[str]) -> int:
    running = most = 0
    for mark in log:
        running += {"+": 1, "-": -1}[mark]
        most = max(most, running)
    return most


def test_ready_tasks_start_by_priority_then_age(workspace: Workspace, tmp_path: Path) -> None:
    order = tmp_path / "order"
    named = {"third": 5, "fourth": 7, "first": 0, "second": 0}
    for title, priority in named.items():
        directives = (f"append {order} {title}", f"write {title}.txt x")
        make_task(workspace, title, *directives, priority=priority)
    run_batch(make_batch(workspace, max_parallel=1))
    assert lines(order) == ["first", "second", "third", "fourth"]


def test_max_parallel_is_reached_and_never_exceeded(workspace: Workspace, tmp_path: Path) -> None:
    """The first three wait for each other."""
    log = tmp_path / "log"
    for n in range(6):
        meeting = [f"wait-file {tmp_path}/{other}" for other in range(3)] if n < 3 else []
        steps = (f"append {log} +", f"touch {tmp_path}/{n}", *meeting, f"append {log} -")
        make_task(workspace, f"t{n}", *steps, f"touch t{n}.txt", priority=n)
    assert run_batch(make_batch(workspace, max_parallel=3)).status == "COMPLETED"
    assert len(lines(log)) == 12
    assert most_at_once(lines(log)) == 3


def test_serial_never_runs_two_at_once(workspace: Workspace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks_that_log(workspace, log, 3)
    run_batch(make_batch(workspace, strategy="serial", max_parallel=8))
    assert most_at_once(lines(log)) == 1


def test_without_isolation_agents_take_turns(workspace: Workspace, tmp_path: Path) -> None:
    """Case 40: several agents in one tree lost against each other's index.lock."""
    log = tmp_path / "log"
    tasks_that_log(workspace, log, 3)
    batch = run_batch(make_batch(workspace, isolation="none", max_parallel=4))
    assert (batch.status, batch.max_parallel) == ("COMPLETED", 1)
    assert most_at_once(lines(log)) == 1
    assert (Path(workspace.repo_path) / "t2.txt").exists()


def test_eight_tasks_start_in_one_tick(tmp_path: Path) -> None:
    """Case 39: concurrent starts lost on the repository's config.lock, which is even held here."""
    workspace = make_workspace(tmp_path)
    (Path(workspace.repo_path) / ".git" / "config.lock").touch()
    together = tmp_path / "together"
    together.mkdir()
    for n in range(8):
        make_task(
            workspace,
            f"t{n}",
            f"touch {together}/{n}",
            *(f"wait-file {together}/{other}" for other in range(8)),
            f"write t{n}.txt x",
        )
    batch = run_batch(make_batch(workspace, max_parallel=8))
    assert (batch.status, batch.completed) == ("COMPLETED", 8)
    assert all((Path(workspace.repo_path) / f"t{n}.txt").exists() for n in range(8))


def test_stop_on_failure_starts_nothing_more(workspace: Workspace, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    make_task(workspace, "good", "write good.txt x", priority=0)
    make_task(workspace, "bad", "exit 1", priority=1)
    make_task(workspace, "later", f"count {starts}", priority=2)
    batch = run_batch(make_batch(workspace, max_parallel=1, on_failure="stop"))
    assert statuses(batch) == {"good": "COMPLETED", "bad": "FAILED", "later": "SKIPPED"}
    assert reasons(batch)["later"] == "stopped_after_failure"
    assert batch.status == "PARTIAL"
    assert counters(batch) == {"completed": 1, "failed": 1, "skipped": 1}
    assert not starts.exists()


def test_stop_on_failure_lets_what_runs_finish(workspace: Workspace, tmp_path: Path) -> None:
    failing = tmp_path / "failing"
    make_task(workspace, "bad", f"touch {failing}", "exit 1", priority=0)
    make_task(workspace, "beside", f"wait-file {failing}", "sleep 0.2", "write x.txt x", priority=0)
    make_task(workspace, "later", priority=1)
    batch = run_batch(make_batch(workspace, max_parallel=2, on_failure="stop"))
    assert statuses(batch)["beside"] == "COMPLETED"
    assert statuses(batch)["bad"] == "FAILED"


def test_on_failure_continue_goes_on(workspace: Workspace) -> None:
    make_task(workspace, "bad", "exit 1", priority=0)
    make_task(workspace, "later", priority=1)
    batch = run_batch(make_batch(workspace, max_parallel=1, on_failure="continue"))
    assert statuses(batch) == {"bad": "FAILED", "later": "COMPLETED"}


def test_each_run_has_its_own_times_and_title(workspace: Workspace) -> None:
    """Fault 79: a batch showed a bare word per task."""
    make_task(workspace, "a", "print hello there", "write a.txt x")
    make_task(workspace, "b", "stderr no such file", "exit 7")
    batch = run_batch(make_batch(workspace))
    assert batch.engine == "command"
    a, b = Run.objects.filter(batch=batch).order_by("position")
    assert (a.title, a.files_changed, a.last_line, a.exit_code) == ("a", 1, "hello there", 0)
    assert (b.reason, b.exit_code) == ("engine_error", 7)
    assert "no such file" in b.message
    for run in (a, b):
        moments = [batch.started_at, run.started_at, run.finished_at, batch.finished_at]
        known = [moment for moment in moments if moment]
        assert known == sorted(known)
        assert len(known) == 4
    assert [stage.name for stage in a.stages.all()] == [
        "tree",
        "agent",
        "capture",
        "vet",
        "gates",
        "integrate",
    ]
    assert {stage.outcome for stage in a.stages.all()} == {"ok"}
