"""What an agent did is never lost, however its run ends."""

from pathlib import Path

import pytest

from batches import paths
from batches.deletion import remove_workspace
from batches.models import Run
from tasks.models import Workspace
from tests.batches.conducting import (
    conducting,
    kept,
    last_run,
    on_branch,
    repository,
    run_batch,
    stop,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import commit, git, write_files

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def tree_is_gone(run: Run) -> bool:
    return not paths.tree_dir(run.id).exists()


@pytest.mark.parametrize("ending", ["exit 1", "crash", "print fine"])
def test_uncommitted_work_is_kept_by_a_ref(workspace: Workspace, ending: str) -> None:
    """Case 43: it was deleted with its tree at cleanup."""
    task = make_task(workspace, "a", "write new/file.txt work", "delete README.md", ending)
    run_batch(make_batch(workspace))
    run = last_run(task)
    assert kept(run, "new/file.txt") == "work"
    files = git(repository(workspace), "ls-tree", "-r", "--name-only", run.capture_commit)
    assert files == "new/file.txt"
    assert tree_is_gone(run)


def test_work_whose_gate_failed_is_kept(tmp_path: Path) -> None:
    """Case 43."""
    gates = [{"name": "own", "argv": ["false"]}]
    workspace = make_workspace(tmp_path, gates_waived=False, gates=gates)
    task = make_task(workspace, "a", "write a.txt work")
    run_batch(make_batch(workspace))
    assert kept(last_run(task), "a.txt") == "work"


def test_work_of_every_attempt_is_kept(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "write a.txt attempt-$CODEFRAME_ATTEMPT", "fail-until 3")
    run_batch(make_batch(workspace, max_retries=2))
    attempts = Run.objects.filter(task=task).order_by("attempt")
    assert [kept(run, "a.txt") for run in attempts] == ["attempt-1", "attempt-2", "attempt-3"]


def test_commits_of_the_agent_are_integrated_too(workspace: Workspace) -> None:
    make_task(workspace, "a", "write a.txt one", "commit mine", "write b.txt two")
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    assert (on_branch(batch, "a.txt"), on_branch(batch, "b.txt")) == ("one", "two")


def test_a_change_the_vetting_refuses_is_kept_and_not_integrated(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "write a.txt x", "sh ln -s /etc/passwd out")
    batch = run_batch(make_batch(workspace))
    run = last_run(task)
    assert (batch.status, run.reason) == ("FAILED", "vetting_refused")
    assert run.findings.get().path == "out"
    assert kept(run, "a.txt") == "x"
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"


def test_the_state_before_an_agent_without_isolation_is_kept(workspace: Workspace) -> None:
    """The user's uncommitted work is part of it."""
    write_files(repository(workspace), {"README.md": "mine\n"})
    task = make_task(workspace, "a", "write README.md theirs")
    batch = run_batch(make_batch(workspace, isolation="none"))
    run = last_run(task)
    assert batch.status == "COMPLETED"
    before = f"refs/codeframe/before/{run.id}:README.md"
    assert git(repository(workspace), "show", before) == "mine"
    assert kept(run, "README.md") == "theirs"
    assert (repository(workspace) / "README.md").read_text() == "theirs\n"


def test_a_repository_survives_the_removal_of_its_workspace(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Case 46: deleting one workspace emptied .git/objects. Another worktree is in use."""
    beside = tmp_path / "beside"
    git(repository(workspace), "worktree", "add", "--quiet", "-b", "beside", str(beside))
    task = make_task(workspace, "a", "write a.txt work", "exit 1")
    run_batch(make_batch(workspace))
    run = last_run(task)
    ref = f"refs/codeframe/runs/{run.id}"
    path = repository(workspace)
    remove_workspace(workspace=workspace, with_history=True)
    git(path, "fsck", "--full", "--strict")
    assert git(path, "show", f"{ref}:a.txt") == "work"
    commit(beside, {"more.txt": "more\n"})
    assert git(beside, "status", "--porcelain") == ""


def test_a_cancelled_batch_leaves_a_sound_repository(workspace: Workspace, tmp_path: Path) -> None:
    began = tmp_path / "began"
    make_task(workspace, "a", "write a.txt x", "commit half", f"touch {began}", "sleep 300")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch)
    git(repository(workspace), "fsck", "--full", "--strict")
    assert git(repository(workspace), "status", "--porcelain") == ""
    assert not list((repository(workspace) / ".git").glob("**/*.lock"))
