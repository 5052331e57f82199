"""Stop and cancel: who is asked, what ends, what stays."""

import threading
from pathlib import Path

import pytest
from django.db import connection

from batches import lifecycle, watch
from batches.errors import InvalidState, WorkspaceBusy
from batches.jobs import execute_batch
from batches.models import Batch, Run
from batches.models.batch import StopMode
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    conducting,
    counters,
    event_types,
    final_events,
    kept,
    last_run,
    lines,
    marked_processes,
    repository,
    run_batch,
    statuses,
    stop,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_cancel_ends_the_agents_and_keeps_what_they_did(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Fault 6, case 43: cancel left agents running, and their work was lost with the tree."""
    began = tmp_path / "began"
    task = make_task(workspace, "a", "write half.txt done", f"touch {began}", "sleep 300")
    after = make_task(workspace, "b", after=[task])
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch, reason="changed my mind")
    assert (batch.status, batch.reason, batch.message) == (
        "CANCELLED",
        "cancelled",
        "changed my mind",
    )
    assert statuses(batch) == {"a": "CANCELLED", "b": "CANCELLED"}
    assert counters(batch) == {"cancelled": 2}
    assert final_events(batch) == ["BATCH_CANCELLED"]
    assert kept(last_run(task), "half.txt") == "done"
    assert [task_status(t) for t in (task, after)] == ["READY", "READY"]
    assert not marked_processes()


@pytest.mark.parametrize(
    ("directive", "processes"),
    [
        ('sh "sleep 300 & sleep 300"', 5),
        ('sh "setsid sleep 300 & wait"', 4),
        (
            'sh "nohup setsid sh -c \'trap \\"\\" TERM HUP; sleep 300; sleep 300\' & sleep 300"',
            6,
        ),
        ("trap-term", 2),
    ],
)
def test_nothing_is_alive_after_a_cancel(
    workspace: Workspace, tmp_path: Path, directive: str, processes: int
) -> None:
    """Cases 23 and 24: children of their own group, session or signal handling lived on."""
    began = tmp_path / "began"
    words = ("spawn sleep", f"touch {began}", directive, "sleep 300")
    make_task(workspace, "a", *words)
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        wait_until(lambda: len(marked_processes()) >= processes, "agent and children")
        stop(batch)
    assert batch.status == "CANCELLED"
    assert not marked_processes()


def test_stop_finishes_what_runs_and_starts_nothing_more(
    workspace: Workspace, tmp_path: Path
) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    first = make_task(workspace, "a", f"touch {began}", f"wait-file {go}", "write a.txt x")
    make_task(workspace, "b", f"count {tmp_path}/starts", priority=1)
    make_task(workspace, "c", f"count {tmp_path}/starts", after=[first], priority=2)
    batch = make_batch(workspace, max_parallel=1)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch, StopMode.STOP)
        batch.refresh_from_db()
        assert batch.status == "CANCELLING"
        with pytest.raises(WorkspaceBusy, match="CANCELLING"):
            lifecycle.refuse_when_busy(workspace.id)
        go.touch()
    assert statuses(batch) == {"a": "COMPLETED", "b": "CANCELLED", "c": "CANCELLED"}
    assert (batch.status, counters(batch)) == ("CANCELLED", {"completed": 1, "cancelled": 2})
    assert task_status(first) == "DONE"
    assert not (tmp_path / "starts").exists()


def test_a_stopped_batch_lands_nothing_by_itself(workspace: Workspace, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    make_task(workspace, "a", f"touch {began}", f"wait-file {go}", "write a.txt x")
    make_task(workspace, "b", priority=1)
    batch = make_batch(workspace, max_parallel=1)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch, StopMode.STOP)
        go.touch()
    assert batch.landing == ""
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"
    assert git(repository(workspace), "show", f"{batch.branch}:a.txt") == "x"


def test_a_cancel_that_committed_before_the_end_is_obeyed_before_anything_lands(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch looks now and then only; what it has not seen yet was asked for all the same."""
    monkeypatch.setattr(watch, "LOOK_SECONDS", 30.0)
    began, go = tmp_path / "began", tmp_path / "go"
    make_task(workspace, "a", f"touch {began}", f"wait-file {go}", "write a.txt x")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch)
        go.touch()
    assert (batch.status, batch.landing) == ("CANCELLED", "")
    assert statuses(batch) == {"a": "COMPLETED"}
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"


def test_a_stop_can_become_a_cancel(workspace: Workspace, tmp_path: Path) -> None:
    began = tmp_path / "began"
    make_task(workspace, "a", f"touch {began}", "sleep 300")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch, StopMode.STOP)
        stop(batch, StopMode.CANCEL)
    assert statuses(batch) == {"a": "CANCELLED"}
    assert event_types(batch, prefix="BATCH_STOPPING") == ["BATCH_STOPPING"] * 2
    assert final_events(batch) == ["BATCH_CANCELLED"]


def test_a_second_cancel_is_refused_and_changes_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    make_task(workspace, "a", f"touch {began}", "sleep 300")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch, reason="first")
        for mode in StopMode:
            with pytest.raises(InvalidState, match="cannot be stopped"):
                stop(batch, mode, reason="second")
    assert batch.message == "first"
    with pytest.raises(InvalidState, match="CANCELLED"):
        stop(batch)
    assert final_events(batch) == ["BATCH_CANCELLED"]


@pytest.mark.parametrize("mode", StopMode)
def test_a_batch_nobody_claimed_is_cancelled_at_once(workspace: Workspace, mode: StopMode) -> None:
    task = make_task(workspace, "a")
    batch = make_batch(workspace)
    stop(batch, mode)
    batch.refresh_from_db()
    assert (batch.status, counters(batch)) == ("CANCELLED", {"cancelled": 1})
    assert statuses(batch) == {"a": "CANCELLED"}
    assert event_types(batch) == ["BATCH_CREATED", "RUN_CANCELLED", "BATCH_CANCELLED"]
    assert task_status(task) == "READY"
    assert not execute_batch(batch.id)
    assert not Event.objects.filter(type="RUN_STARTED").exists()


def test_a_cancel_and_a_last_task_at_the_same_instant_make_one_end(workspace: Workspace) -> None:
    """Fault 7, case 3: both ends were told, and the finished task's result was dropped.

    Whichever comes first, there is one end, and it agrees with the row.
    """
    make_task(workspace, "a")
    batch = make_batch(workspace)
    seen = threading.Event()

    def cancel_once_completed() -> None:
        wait_until(lambda: Run.objects.filter(status="COMPLETED").exists())
        try:
            stop(batch)
            seen.set()
        except InvalidState:
            return

    def work() -> None:
        try:
            cancel_once_completed()
        finally:
            connection.close()

    canceller = threading.Thread(target=work)
    canceller.start()
    run_batch(batch)
    canceller.join()
    batch.refresh_from_db()
    assert statuses(batch) == {"a": "COMPLETED"}
    assert counters(batch) == {"completed": 1}
    assert final_events(batch) == [f"BATCH_{batch.status}"]
    assert batch.status == ("CANCELLED" if seen.is_set() else "COMPLETED")


def test_after_a_cancel_has_committed_no_run_starts(workspace: Workspace, tmp_path: Path) -> None:
    """Case 3: a late write undid the cancel, and tokens kept burning."""
    make_task(workspace, "a")
    batch = make_batch(workspace)
    lease = lifecycle.claim_batch(batch_id=batch.id, owner="this test")
    assert lease
    stop(batch)
    run = Run.objects.get()
    assert not lifecycle.start_run(lease=lease, run=run)
    run.refresh_from_db()
    assert run.status == "QUEUED"
    assert not Event.objects.filter(type="RUN_STARTED").exists()


def test_a_cancel_while_the_batch_is_validated_ends_the_gate(tmp_path: Path) -> None:
    began = tmp_path / "began"
    script = f'case "$PWD" in *{{batch}}*) touch {began}; sleep 300;; esac'
    workspace = make_workspace(tmp_path, gates_waived=False)
    make_task(workspace, "a")
    make_task(workspace, "b")
    batch = make_batch(workspace)
    command = script.replace("{batch}", batch.id.hex)
    workspace.gates = [{"name": "slow", "argv": ["sh", "-c", command]}]
    workspace.save()
    with conducting(batch):
        wait_until(began.exists, "the integrated tree is being checked")
        stop(batch)
    assert (batch.status, batch.landing) == ("CANCELLED", "")
    assert set(statuses(batch).values()) == {"COMPLETED"}
    assert not marked_processes()
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"


def test_a_workspace_is_busy_until_the_last_process_is_gone(
    workspace: Workspace, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    make_task(workspace, "a", "trap-term", f"touch {began}", "sleep 300")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        stop(batch)
        wait_until(lambda: not Batch.objects.filter(status="CANCELLING").exists())
        assert not marked_processes()
    lifecycle.refuse_when_busy(workspace.id)


def test_a_run_that_waits_for_its_retry_is_not_started_after_a_stop(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batches.retry.BACKOFF_S", (300.0,))
    task = make_task(workspace, "a", f"count {tmp_path}/starts", "crash")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: Run.objects.filter(attempt=2).exists())
        stop(batch, StopMode.STOP)
    assert batch.status == "CANCELLED"
    assert len(lines(tmp_path / "starts")) == 1
    assert task_status(task) == "READY"
