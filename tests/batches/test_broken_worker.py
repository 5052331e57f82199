"""codeframe's own failures: each ends in rows that say so."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.functions import Now

from batches import paths
from batches.attempt import run_attempt
from batches.context import RunContext
from batches.integration.vetting import Finding
from batches.models import Batch, Run, Stage
from batches.models.run import LIVE
from batches.reasons import Reason
from batches.results import RunResult, failed
from batches.stages.vet import _sentence
from batches.terminal.report import report_object
from tasks.models import Task, Workspace
from tests.batches.conducting import (
    conducting,
    counters,
    final_events,
    last_run,
    lines,
    marked_processes,
    run_batch,
    statuses,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_an_exception_in_one_run_fails_that_run_alone(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 12, case 6: set-up trouble left RUNNING, or ran finished tasks again."""
    starts = tmp_path / "starts"
    a = make_task(workspace, "a", f"count {starts}", "write a.txt x", priority=0)
    b = make_task(workspace, "b", f"count {starts}", "write b.txt x", priority=1)
    c = make_task(workspace, "c", f"count {starts}", "write c.txt x", priority=2)

    def attempt(context: RunContext) -> RunResult:
        if context.run.task_id == b.id:
            raise ZeroDivisionError("a fault of ours")
        return run_attempt(context)

    batch = run_batch(make_batch(workspace, max_parallel=1), attempt=attempt)
    assert statuses(batch) == {"a": "COMPLETED", "b": "FAILED", "c": "COMPLETED"}
    assert last_run(b).reason == "internal_error"
    assert "ZeroDivisionError: a fault of ours" in last_run(b).message
    assert (batch.status, counters(batch)) == ("PARTIAL", {"completed": 2, "failed": 1})
    assert [task_status(task) for task in (a, b, c)] == ["MERGED", "FAILED", "MERGED"]
    assert len(lines(starts)) == 2


def test_a_folder_in_the_way_of_a_run_is_told_with_its_path(workspace: Workspace) -> None:
    """Case 6: its place cannot be written. The next attempt has a folder of its own."""
    task = make_task(workspace, "a")
    batch = make_batch(workspace)
    in_the_way = paths.run_dir(last_run(task).id) / "prompt.md"
    in_the_way.mkdir()
    run_batch(batch)
    first, second = Run.objects.filter(task=task).order_by("attempt")
    assert (first.status, first.reason, second.status) == ("FAILED", "storage", "COMPLETED")
    assert str(in_the_way) in first.message
    assert not Stage.objects.filter(ended_at=None).exists()


def test_a_repository_that_vanishes_fails_the_batch_and_frees_the_workspace(
    workspace: Workspace, tmp_path: Path
) -> None:
    task = make_task(workspace, "a", f"wait-file {tmp_path}/go", "write a.txt x")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: task_status(task) == "IN_PROGRESS")
        wait_until(lambda: Run.objects.filter(agent_started=True).exists())
        (tmp_path / "repo").rename(tmp_path / "elsewhere")
        (tmp_path / "go").touch()
    assert batch.status == "FAILED"
    assert not Run.objects.filter(status__in=LIVE).exists()
    assert not marked_processes()


def test_what_breaks_the_conductor_ends_every_run_and_the_batch(workspace: Workspace) -> None:
    """Regression: a batch stayed RUNNING on a worker's exception. The counts add up, too."""
    a = make_task(workspace, "a", "sleep 300")
    make_task(workspace, "b", priority=1)

    def attempt(context: RunContext) -> RunResult:
        Task.objects.filter(id=a.id).update(status="IN_PROGRESS")
        Run.objects.filter(id=context.run.id).update(status="LOST", finished_at=Now())
        raise ZeroDivisionError

    batch = run_batch(make_batch(workspace, max_parallel=1), attempt=attempt)
    assert (batch.status, batch.reason) == ("FAILED", "internal_error")
    assert final_events(batch) == ["BATCH_FAILED"]
    assert not Run.objects.filter(status__in=LIVE).exists()
    assert batch.finished_at


def test_a_report_can_be_read_at_any_moment(workspace: Workspace) -> None:
    """Fault 78: results were changed by workers while another thread read them."""
    for n in range(8):
        make_task(workspace, f"t{n}")
    batch = make_batch(workspace, max_parallel=4)
    ended = threading.Event()
    problems: list[BaseException] = []

    def read() -> None:
        try:
            while not ended.is_set():
                report = report_object(Batch.objects.get(id=batch.id))
                assert len(report["tasks"]) == 8
        except BaseException as problem:
            problems.append(problem)
        finally:
            connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    run_batch(batch)
    ended.set()
    reader.join()
    assert not problems
    assert batch.completed == 8


def test_the_integration_branch_is_ours_alone(workspace: Workspace, tmp_path: Path) -> None:
    """Someone moves it by hand meanwhile: their commit is built on, not lost."""
    task = make_task(workspace, "a", f"wait-file {tmp_path}/go", "write a.txt x")
    batch = make_batch(workspace)
    repo = tmp_path / "repo"
    with conducting(batch):
        wait_until(lambda: task_status(task) == "IN_PROGRESS")
        wait_until(lambda: Run.objects.filter(agent_started=True).exists())
        tree = git(repo, "rev-parse", "main^{tree}")
        mine = git(repo, "commit-tree", "-p", "main", "-m", "by hand", tree)
        git(repo, "update-ref", f"refs/heads/{batch.branch}", mine)
        (tmp_path / "go").touch()
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    assert mine in git(repo, "rev-list", "main").split()


def test_a_batch_whose_runs_all_ended_for_one_reason_names_it(workspace: Workspace) -> None:
    make_task(workspace, "a")
    make_task(workspace, "b")

    def attempt(context: RunContext) -> RunResult:
        return failed(Reason.REPOSITORY_LOST, "it is gone")

    batch = run_batch(make_batch(workspace), attempt=attempt)
    assert statuses(batch) == {"a": "FAILED", "b": "FAILED"}
    assert (batch.status, batch.reason) == ("FAILED", "repository_lost")
    assert batch.message == "it is gone"


def test_a_batch_whose_runs_ended_for_several_reasons_names_none(workspace: Workspace) -> None:
    make_task(workspace, "a")
    b = make_task(workspace, "b")

    def attempt(context: RunContext) -> RunResult:
        reason = Reason.ENGINE_MISSING if context.run.task_id == b.id else Reason.REPOSITORY_LOST
        return failed(reason, "it is gone")

    batch = run_batch(make_batch(workspace), attempt=attempt)
    assert (batch.status, batch.reason, batch.message) == ("FAILED", "", "")


def test_a_refusal_that_is_of_no_one_file_is_a_whole_sentence() -> None:
    finding = Finding(rule="secret", severity="refuse", path=b"", message="a key is in the change")
    assert _sentence([finding]) == "A key is in the change"
    assert (
        _sentence([replace(finding, path=b"x.txt")] * 2)
        == "x.txt: a key is in the change (and 1 more)"
    )
