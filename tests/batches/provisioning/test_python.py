"""Runs in Python environments, made by the real pip from wheels of the tests' own."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from batches import paths
from batches.configuration.changing import set_config
from batches.models import Environment, RecipeCommand, Stage
from batches.provisioning import collecting
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    conducting,
    event_types,
    kept,
    last_run,
    reasons,
    repository,
    run_batch,
    statuses,
    stop,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
SEEN = "import sys, tiny; print(tiny.VALUE, sys.prefix)"
BACKEND = """\
import pathlib, time

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    pathlib.Path({started!r}).touch()
    time.sleep(300)
"""


@pytest.fixture
def requirements(tmp_path: Path, wheel: Callable[..., Path]) -> str:
    wheel(tmp_path / "wheels", "tiny", {"tiny.py": "VALUE = 7\n"})
    return f"--no-index\n--find-links {tmp_path / 'wheels'}\ntiny==1.0\n"


def commands(stage: Stage) -> list[tuple[str, str]]:
    return [(row["command"], row["outcome"]) for row in stage.commands]


def shared(workspace: Workspace) -> Path:
    (row,) = Environment.objects.filter(workspace=workspace)
    return paths.environments_dir(workspace.id) / row.key


def test_an_environment_is_built_once_and_agents_and_gates_work_in_it(
    tmp_path: Path, requirements: str
) -> None:
    """Properties 26 and 40."""
    program = "import tiny; assert tiny.VALUE == 7"
    workspace = make_workspace(
        tmp_path,
        files={"requirements.txt": requirements},
        gates_waived=False,
        gates=[{"name": "own", "argv": ["python", "-c", program]}],
    )
    for name in ("a", "b"):
        make_task(
            workspace, name, f"sh \"python -c '{SEEN}' > {name}.txt\"", f"env {tmp_path}/{name}"
        )
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.verification) == ("COMPLETED", "passed"), batch.message
    folder = shared(workspace)
    for name in ("a", "b"):
        run = last_run(batch.runs.get(title=name).task)
        assert kept(run, f"{name}.txt") == f"7 {folder}/venv"
        files = git(repository(workspace), "show", "--name-only", "--format=", run.capture_commit)
        assert files.split() == [f"{name}.txt"]
        env = json.loads((tmp_path / name).read_text())
        assert env["VIRTUAL_ENV"] == f"{folder}/venv"
        assert env["PATH"].startswith(f"{folder}/venv/bin:")
    assert event_types(batch).count("RUN_ENVIRONMENT") == 1
    built = Event.objects.get(batch_id=batch.id, type="RUN_ENVIRONMENT").payload
    assert built["versions"]["python"].startswith("3.")
    stages = Stage.objects.filter(run__batch=batch, name="provision")
    assert [stage.outcome for stage in stages] == ["ok", "ok"]
    assert all(stage.deadline_s == 1800 for stage in stages)
    (builder,) = [stage for stage in stages if stage.commands]
    assert {outcome for _, outcome in commands(builder)} == {"done"}
    log = paths.run_dir(builder.run_id) / "provision" / builder.commands[1]["log"]
    assert log.is_dir()

    collecting.collect()
    assert folder.is_dir()
    Environment.objects.update(last_used_at="2020-01-01T00:00Z")
    assert folder in collecting.collect().removed
    assert not Environment.objects.exists()


def test_set_up_goes_into_the_runs_own_environment_and_not_into_its_change(
    tmp_path: Path, requirements: str, wheel: Callable[..., Path]
) -> None:
    """Property 27, pitfall 37."""
    extra = wheel(tmp_path / "made", "extra", {"extra.py": "VALUE = 8\n"})
    workspace = make_workspace(
        tmp_path,
        files={
            "requirements.txt": requirements,
            "wheels/" + extra.name: extra.read_bytes(),
            "kept.txt": "kept\n",
        },
    )
    RecipeCommand.objects.create(
        workspace=workspace,
        text=f"pip install --no-index ./wheels/{extra.name}",
        decision="approved",
    )
    RecipeCommand.objects.create(workspace=workspace, text="pip install never-approved")
    program = "import extra, sys, tiny; print(tiny.VALUE + extra.VALUE, sys.prefix)"
    task = make_task(workspace, "a", f"sh \"python -c '{program}' > a.txt\"", "sh 'pip --version'")
    batch = run_batch(make_batch(workspace))
    assert statuses(batch) == {"a": "COMPLETED"}, reasons(batch)
    run = last_run(task)
    own = paths.own_environment_dir(run.id)
    assert kept(run, "a.txt") == f"15 {own}/python/venv"
    files = git(repository(workspace), "show", "--name-only", "--format=", run.capture_commit)
    assert files.split() == ["a.txt"]
    assert not own.exists()
    assert list((shared(workspace) / "venv/lib").glob("*/site-packages/tiny.py"))
    assert not list((shared(workspace) / "venv/lib").glob("*/site-packages/extra.py"))
    (stage,) = Stage.objects.filter(run=run, name="setup")
    assert commands(stage) == [(f"pip install --no-index ./wheels/{extra.name}", "done")]


def test_a_stop_in_the_middle_of_set_up_kills_it_and_starts_nothing_more(
    tmp_path: Path, requirements: str
) -> None:
    """Property 19: the second is dead, the third never starts, and nor does the agent."""
    started = tmp_path / "started"
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    workspace = make_workspace(
        tmp_path,
        files={
            "slow/pyproject.toml": project + '[project]\nname = "slow"\nversion = "1"\n',
            "slow/backend.py": BACKEND.format(started=str(started)),
            "none.txt": "",
        },
    )
    texts = ["pip install -r none.txt", "pip install ./slow", "pip install ./never"]
    for text in texts:
        RecipeCommand.objects.create(workspace=workspace, text=text, decision="approved")
    task = make_task(workspace, "a", f"touch {tmp_path}/agent")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(started.exists, "the second command runs")
        stop(batch)
    run = last_run(task)
    assert (batch.status, run.status) == ("CANCELLED", "CANCELLED")
    (stage,) = Stage.objects.filter(run=run, name="setup")
    assert commands(stage) == list(zip(texts, ["done", "interrupted", "not_run"], strict=True))
    assert not (tmp_path / "agent").exists()
    assert _processes_of(run.id.hex) == []
    assert not paths.own_environment_dir(run.id).exists()


def _processes_of(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environ = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if mark.encode() in environ and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def test_what_cannot_be_installed_fails_the_run_with_its_own_words(tmp_path: Path) -> None:
    text = "--no-index\nnot-to-be-found==1.0\n"
    workspace = make_workspace(tmp_path, files={"requirements.txt": text})
    task = make_task(workspace, "a", f"touch {tmp_path}/agent")
    batch = run_batch(make_batch(workspace))
    run = last_run(task)
    assert (run.status, run.reason) == ("FAILED", "setup_failed")
    assert "not-to-be-found" in run.message
    assert "environment.tools: none" in run.message
    assert not (tmp_path / "agent").exists()
    assert not Environment.objects.exists()
    assert batch.status == "FAILED"


def test_a_requirement_of_the_tree_itself_is_named_before_anything_is_built(
    tmp_path: Path,
) -> None:
    workspace = make_workspace(tmp_path, files={"requirements.txt": "# ours\n-e .\n"})
    task = make_task(workspace, "a")
    run_batch(make_batch(workspace))
    assert last_run(task).reason == "setup_failed"
    assert "requirements.txt:2" in last_run(task).message
    assert "environment.tools: none" in last_run(task).message


def test_the_way_out_that_a_failure_names_is_one(tmp_path: Path) -> None:
    text = "--no-index\nnot-to-be-found==1.0\n"
    workspace = make_workspace(tmp_path, files={"requirements.txt": text})
    set_config(workspace=workspace, config={"environment": {"tools": "none"}}, by="ann")
    make_task(workspace, "a")
    assert run_batch(make_batch(workspace)).status == "COMPLETED"


def test_what_an_agent_declares_is_offered_and_not_replayed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    lines = "pip install flask\\n# why\\npip install flask\\nsudo rm -rf /\\n"
    task = make_task(
        workspace, "a", f"sh \"printf '{lines}' > $CODEFRAME_SETUP_FILE\"", "write a x"
    )
    batch = run_batch(make_batch(workspace))
    (row,) = RecipeCommand.objects.all()
    assert (row.text, row.decision, row.run) == ("pip install flask", "offered", last_run(task))
    assert Event.objects.filter(workspace=workspace, type="RECIPE_CHANGED").count() == 1
    assert not Stage.objects.filter(run__batch=batch, name="setup").exists()
    make_task(workspace, "b")
    assert run_batch(make_batch(workspace)).status == "COMPLETED"
