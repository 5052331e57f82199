"""The stage of a run: taken over after a let-go, nothing in the way when nothing is asked."""

import threading
from pathlib import Path
from typing import Any

import pytest

from batches import paths
from batches.models import Environment, Run, Stage
from batches.provisioning import steps
from batches.stages import setup
from batches.stages.setup import stage_seconds
from tests.batches.conducting import (
    Conducting,
    event_types,
    kept,
    last_run,
    lines,
    run_batch,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("quick", "toy")
def test_a_batch_let_go_while_it_builds_is_finished_by_the_next_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Property 43: nothing half-built is used, and the agent starts once."""
    monkeypatch.setattr(steps, "ORPHAN_S", 1.0)
    log, go = tmp_path / "builds", tmp_path / "go"
    script = f"echo built >> {log}; while [ ! -e {go} ]; do sleep 0.05; done; echo x > $1/file\n"
    workspace = make_workspace(tmp_path, files={"toy.lock": script})
    task = make_task(
        workspace, "a", f"count {tmp_path}/starts", 'sh "cat $TOY_HOME/made/bin/file > a"'
    )
    batch = make_batch(workspace)
    leave = threading.Event()
    first = Conducting(batch, leave=leave)
    first.start()
    wait_until(lambda: lines(log), "it builds")
    leave.set()
    first.finish()
    assert last_run(task).status == "RUNNING"
    go.touch()
    assert run_batch(batch).status == "COMPLETED"
    assert lines(log) == ["built", "built"]
    assert len(lines(tmp_path / "starts")) == 1
    assert kept(last_run(task), "a") == "x"
    outcomes = Stage.objects.filter(run__batch=batch, name="provision").values_list(
        "outcome", flat=True
    )
    assert list(outcomes) == ["interrupted", "ok"]


@pytest.mark.usefixtures("quick", "toy")
def test_a_run_past_it_goes_on_in_what_it_was_given(tmp_path: Path) -> None:
    """An adopted agent's gates see the environment that the agent had."""
    workspace = make_workspace(
        tmp_path,
        files={"toy.lock": "printf '#!/bin/sh\\nexit 0\\n' > $1/check; chmod +x $1/check"},
        gates_waived=False,
        gates=[{"name": "own", "argv": ["check"]}],
    )
    go = tmp_path / "go"
    make_task(workspace, "a", f"touch {tmp_path}/at-work", f"wait-file {go}", "write a a")
    batch = make_batch(workspace)
    leave = threading.Event()
    first = Conducting(batch, leave=leave)
    first.start()
    wait_until((tmp_path / "at-work").exists, "the agent works")
    leave.set()
    first.finish()
    go.touch()
    done = run_batch(batch)
    assert (done.status, done.verification) == ("COMPLETED", "passed"), done.verification_reason
    assert event_types(batch).count("RUN_ENVIRONMENT") == 1


def test_a_repository_without_lock_files_has_no_such_stage(tmp_path: Path) -> None:
    """Its runs pay for nothing."""
    workspace = make_workspace(tmp_path)
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    names = set(Stage.objects.filter(run__batch=batch).values_list("name", flat=True))
    assert names.isdisjoint({"provision", "setup"})
    assert not Environment.objects.exists()
    assert not paths.own_environment_dir(Run.objects.get(batch=batch).id).exists()


def test_times_are_made_of_their_parts() -> None:
    """Properties 1 and 21: a stage outlasts all its commands, a lock its dying holder."""
    most: Any = setup.MOST_COMMANDS
    assert stage_seconds(setup.COMMAND_S) >= most * setup.COMMAND_S + setup.PROBE_S
    assert steps.STOP_COST_S >= steps.GRACE_S
    assert steps.ORPHAN_S >= steps.GRACE_S
