"""Two tasks that change the same line."""

from pathlib import Path

import pytest

from batches.models import Run
from tasks.models import Blocker, Workspace
from tests.batches.conducting import (
    conflicting,
    counters,
    kept,
    last_run,
    on_branch,
    reasons,
    repository,
    run_into_conflict,
    statuses,
    task_status,
)
from tests.factories import make_batch, make_workspace
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_the_second_is_blocked_with_the_files_named(workspace: Workspace, tmp_path: Path) -> None:
    """Case 45: a conflict left a dirty tree and no report."""
    first, second = conflicting(workspace, tmp_path)
    batch = make_batch(workspace)
    run_into_conflict(batch, first, tmp_path)
    assert statuses(batch) == {"first": "COMPLETED", "second": "BLOCKED"}
    assert reasons(batch)["second"] == "conflict"
    assert "same.txt" in last_run(second).message
    assert (batch.status, counters(batch)) == ("PARTIAL", {"completed": 1, "blocked": 1})
    assert task_status(second) == "BLOCKED"
    blocker = Blocker.objects.get()
    assert (blocker.task_id, blocker.run_id) == (second.id, last_run(second).id)
    assert "same.txt" in blocker.question


def test_the_first_is_integrated_and_the_second_kept(workspace: Workspace, tmp_path: Path) -> None:
    first, second = conflicting(workspace, tmp_path)
    batch = make_batch(workspace)
    run_into_conflict(batch, first, tmp_path)
    assert on_branch(batch, "same.txt") == "one"
    assert kept(last_run(second), "same.txt") == "two"
    assert git(repository(workspace), "status", "--porcelain") == ""
    assert (repository(workspace) / "same.txt").read_text() == "one\n"


def test_a_retry_does_it_again_on_the_integrated_work(workspace: Workspace, tmp_path: Path) -> None:
    first, second = conflicting(workspace, tmp_path)
    batch = make_batch(workspace, max_retries=1)
    run_into_conflict(batch, first, tmp_path)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 2})
    attempts = Run.objects.filter(task=second).order_by("attempt")
    assert list(attempts.values_list("status", "reason", "superseded")) == [
        ("BLOCKED", "conflict", True),
        ("COMPLETED", "", False),
    ]
    assert not Blocker.objects.exists()
    assert on_branch(batch, "same.txt") == "two"
    assert task_status(second) == "MERGED"
