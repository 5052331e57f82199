"""Where the result of a batch goes, in every state of the user's own checkout."""

from pathlib import Path

import pytest

from batches.models import Batch
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    conducting,
    on_branch,
    repository,
    run_batch,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import commit, git, write_files

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def landed_files(workspace: Workspace) -> set[str]:
    return set(git(repository(workspace), "ls-tree", "--name-only", "main").split())


def while_it_runs(workspace: Workspace, tmp_path: Path, **files: str) -> Batch:
    """A batch during which the user commits `files` on the base branch."""
    task = make_task(workspace, "a", f"wait-file {tmp_path}/go", "write README.md theirs")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: task_status(task) == "IN_PROGRESS")
        wait_until(lambda: Batch.objects.exclude(base_commit="").exists())
        commit(repository(workspace), files, "by hand")
        (tmp_path / "go").touch()
    return batch


def test_a_clean_checkout_gets_the_files(workspace: Workspace) -> None:
    task = make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert batch.landing == "landed"
    assert (repository(workspace) / "a.txt").read_text() == "done\n"
    assert batch.landed_commit == git(repository(workspace), "rev-parse", "main")
    assert task_status(task) == "MERGED"
    landed = Event.objects.get(type="BATCH_LANDED")
    assert landed.payload["outcome"] == "landed"
    message = git(repository(workspace), "log", "-1", "--format=%B", "main")
    assert f"Codeframe-Batch: {batch.id}" in message
    assert f"Codeframe-Task: {task.id}" in message


def test_uncommitted_work_in_the_way_is_left_alone(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "write README.md theirs")
    write_files(repository(workspace), {"README.md": "mine\n"})
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("COMPLETED", "dirty")
    assert "README.md" in batch.landing_detail
    assert (repository(workspace) / "README.md").read_text() == "mine\n"
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"
    assert on_branch(batch, "README.md") == "theirs"
    assert task_status(task) == "DONE"


def test_a_base_that_went_on_is_merged(workspace: Workspace, tmp_path: Path) -> None:
    batch = while_it_runs(workspace, tmp_path, **{"other.txt": "mine\n"})
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    assert landed_files(workspace) == {"README.md", "other.txt"}
    assert (repository(workspace) / "README.md").read_text() == "theirs\n"
    assert git(repository(workspace), "status", "--porcelain") == ""
    assert len(git(repository(workspace), "log", "-1", "--format=%P", "main").split()) == 2


def test_a_base_that_conflicts_is_left_alone(workspace: Workspace, tmp_path: Path) -> None:
    batch = while_it_runs(workspace, tmp_path, **{"README.md": "mine\n"})
    assert (batch.status, batch.landing) == ("COMPLETED", "conflict")
    assert "README.md" in batch.landing_detail
    assert (repository(workspace) / "README.md").read_text() == "mine\n"
    assert git(repository(workspace), "status", "--porcelain") == ""
    assert on_branch(batch, "README.md") == "theirs"


def test_a_detached_head_leaves_the_result_on_its_branch(workspace: Workspace) -> None:
    git(repository(workspace), "checkout", "--quiet", "--detach")
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing, batch.base_branch) == ("COMPLETED", "branch_only", "")
    assert not (repository(workspace) / "a.txt").exists()
    assert on_branch(batch, "a.txt") == "done"


@pytest.mark.parametrize("land", ["branch", "none"])
def test_what_shall_not_land_stays_on_its_branch(workspace: Workspace, land: str) -> None:
    task = make_task(workspace, "a")
    batch = run_batch(make_batch(workspace, land=land))
    assert (batch.status, batch.landing, batch.verification) == ("COMPLETED", land, "waived")
    assert landed_files(workspace) == {"README.md"}
    assert on_branch(batch, "a.txt") == "done"
    assert task_status(task) == "DONE"


def test_a_batch_that_changed_nothing_has_nothing_to_land(workspace: Workspace) -> None:
    make_task(workspace, "a", "print looked around", expects_changes=False)
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("COMPLETED", "nothing")


def test_what_completed_of_a_partial_batch_lands(workspace: Workspace) -> None:
    good = make_task(workspace, "good")
    bad = make_task(workspace, "bad", "write bad.txt x", "exit 1")
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("PARTIAL", "landed")
    assert landed_files(workspace) == {"README.md", "good.txt"}
    assert (task_status(good), task_status(bad)) == ("MERGED", "FAILED")


def test_a_branch_that_was_deleted_meanwhile_is_not_made_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    task = make_task(workspace, "a", f"wait-file {tmp_path}/go", "write a.txt x")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: task_status(task) == "IN_PROGRESS")
        wait_until(lambda: Batch.objects.exclude(base_commit="").exists())
        git(repository(workspace), "checkout", "--quiet", "-b", "elsewhere")
        git(repository(workspace), "branch", "--quiet", "-D", "main")
        (tmp_path / "go").touch()
    assert (batch.status, batch.landing) == ("COMPLETED", "branch_only")
    assert "main" not in git(repository(workspace), "branch", "--format=%(refname:short)").split()
    assert on_branch(batch, "a.txt") == "x"
