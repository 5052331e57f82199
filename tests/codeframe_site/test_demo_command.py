"""`manage.py demo`, run once as a newcomer runs it."""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import User
from pytest_django import Settings

from codeframe_site.demo.workspace import make_workspace, refuse_other_work
from tasks.errors import DomainError
from tests.codeframe_site.rows import batch_row, workspace_row
from tests.codeframe_site.server_process import ROOT, environment
from tests.repos import git

LONGEST_S = 500


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "state"


@pytest.fixture(scope="module")
def done(state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "demo"],
        cwd=ROOT,
        env=environment(state, CODEFRAME_DEMO_PACE="0"),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


@pytest.mark.acceptance
@pytest.mark.timeout(LONGEST_S + 60)
def test_the_demo_lands_eight_tasks_and_shows_how(
    done: subprocess.CompletedProcess[str], state: Path
) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runbatch" in done.stdout
    assert "--tasks-file codeframe_site/demo/tasks.yaml" in done.stdout
    assert "queued again, attempt 2" in done.stdout
    assert re.search(r"verification: passed, pytest: \d+ passed", done.stdout)
    repository = state / "demo-1"
    assert git(repository, "log", "--format=%s").count("\n") >= 9
    assert "Run pocketbook from the command line" in done.stdout.partition("git log main")[2]
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.acceptance
@pytest.mark.timeout(LONGEST_S + 60)
def test_the_printed_password_is_the_account_s(
    done: subprocess.CompletedProcess[str], state: Path
) -> None:
    said = re.search(r"account demo, password (\S+)", done.stdout)
    assert said
    with sqlite3.connect(state / "codeframe.sqlite3") as database:
        rows = database.execute("SELECT username, password, is_staff FROM auth_user").fetchall()
    ((name, password, is_staff),) = rows
    assert (name, bool(is_staff)) == ("demo", True)
    assert check_password(said[1], password)


@pytest.mark.acceptance
@pytest.mark.timeout(LONGEST_S + 60)
def test_it_writes_in_the_state_directory_only(
    done: subprocess.CompletedProcess[str], state: Path
) -> None:
    assert done.returncode == 0
    assert [path.name for path in state.parent.iterdir()] == [state.name]


@pytest.mark.django_db
def test_each_demo_gets_a_repository_of_its_own(tmp_path: Path, settings: Settings) -> None:
    settings.STATE_DIR = tmp_path
    first = make_workspace()
    (Path(first.repo_path) / "mine.txt").write_text("keep")
    batch_row(first, "RUNNING")
    second = make_workspace()
    assert (first.name, second.name) == ("demo-1", "demo-2")
    assert (Path(first.repo_path) / "mine.txt").read_text() == "keep"
    assert git(Path(second.repo_path), "status", "--porcelain") == ""
    assert (Path(second.repo_path) / ".venv/bin/pytest").exists()
    refuse_other_work()


@pytest.mark.django_db
def test_a_folder_or_a_row_left_by_an_earlier_demo_is_passed_over(
    tmp_path: Path, settings: Settings
) -> None:
    settings.STATE_DIR = tmp_path
    (tmp_path / "demo-1").mkdir()
    workspace_row("demo-2")
    assert make_workspace().name == "demo-3"


@pytest.mark.django_db
def test_it_keeps_away_from_real_work() -> None:
    workspace_row("shop")
    with pytest.raises(DomainError, match="holds workspace shop"):
        refuse_other_work()


@pytest.mark.django_db
def test_it_keeps_away_from_accounts_of_other_people() -> None:
    User.objects.create(username="demo")
    refuse_other_work()
    User.objects.create(username="ada")
    with pytest.raises(DomainError, match="accounts of your own"):
        refuse_other_work()
