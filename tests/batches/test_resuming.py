"""A finished batch taken up again: which runs are done anew, with which settings."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from batches.errors import InvalidState, InvalidTasks, WorkspaceBusy
from batches.jobs import execute_batch
from batches.models import Batch, Run
from batches.resuming import resume
from tasks.blockers import open_blocker
from tasks.lifecycle import move_task
from tasks.models import Blocker, Event, Task, Workspace
from tasks.models.task import TaskStatus
from tests.batches.conducting import (
    conducting,
    conflicting,
    counters,
    final_events,
    last_run,
    lines,
    reasons,
    repository,
    run_batch,
    run_into_conflict,
    statuses,
    stop,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import commit, git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def resume_and_run(batch: Batch, **how: Any) -> Batch:
    resume(batch=batch, send=False, **how)
    return run_batch(batch)


def half_done(workspace: Workspace, folder: Path, **changes: Any) -> Batch:
    """One completed, one failed until `folder`/mended exists, one that depends on it."""
    good = make_task(workspace, "good", f"count {folder}/good", "write good.txt x", priority=0)
    bad = make_task(
        workspace,
        "bad",
        f"count {folder}/bad",
        f"sh test -e {folder}/mended",
        "write bad.txt x",
        priority=1,
    )
    make_task(workspace, "after", f"count {folder}/after", after=[bad, good], priority=2)
    Task.objects.filter(title="after").update(expects_changes=False)
    batch = run_batch(make_batch(workspace, **changes))
    assert batch.status == "PARTIAL"
    return batch


def test_only_what_did_not_complete_is_done_again(workspace: Workspace, tmp_path: Path) -> None:
    """Case 4: what a crash had left was skipped for ever by a resume."""
    batch = half_done(workspace, tmp_path)
    (tmp_path / "mended").touch()
    resume_and_run(batch)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 3})
    assert [len(lines(tmp_path / name)) for name in ("good", "bad", "after")] == [1, 2, 1]
    assert final_events(batch) == ["BATCH_PARTIAL", "BATCH_COMPLETED"]
    assert (repository(workspace) / "bad.txt").exists()
    bad = Run.objects.filter(title="bad").order_by("attempt")
    assert list(bad.values_list("round", "superseded")) == [(1, True), (2, False)]


def test_a_resume_keeps_every_setting(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 10: strategy, parallelism, on_failure, retries and time-outs were dropped."""
    chosen: dict[str, Any] = {
        "strategy": "serial",
        "on_failure": "stop",
        "max_retries": 1,
        "timeout_s": 44,
        "stall_timeout_s": 33,
        "land": "branch",
    }
    batch = half_done(workspace, tmp_path, **chosen)
    resume_and_run(batch)
    assert {name: getattr(batch, name) for name in chosen} == chosen
    assert batch.max_parallel == 1
    assert len(lines(tmp_path / "bad")) == 4
    assert statuses(batch)["after"] == "SKIPPED"


def test_dependencies_hold_in_a_resumed_batch(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 10: a resume went by the list alone."""
    batch = half_done(workspace, tmp_path)
    resume_and_run(batch)
    assert statuses(batch) == {"good": "COMPLETED", "bad": "FAILED", "after": "SKIPPED"}
    assert counters(batch) == {"completed": 1, "failed": 1, "skipped": 1}
    assert not (tmp_path / "after").exists()


def test_force_does_everything_again_that_has_not_landed(
    workspace: Workspace, tmp_path: Path
) -> None:
    batch = half_done(workspace, tmp_path, land="none")
    (tmp_path / "mended").touch()
    Task.objects.filter(title="good").update(expects_changes=False)
    resume_and_run(batch, force=True)
    assert batch.status == "COMPLETED"
    assert [len(lines(tmp_path / name)) for name in ("good", "bad", "after")] == [2, 2, 1]


def test_force_leaves_alone_what_has_landed(workspace: Workspace, tmp_path: Path) -> None:
    """A merged task is final: doing it again could only replace its good run by a skipped one."""
    batch = half_done(workspace, tmp_path)
    (tmp_path / "mended").touch()
    resume_and_run(batch, force=True)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 3})
    assert len(lines(tmp_path / "good")) == 1


def test_only_the_named_tasks_are_done_again(workspace: Workspace, tmp_path: Path) -> None:
    batch = half_done(workspace, tmp_path)
    (tmp_path / "mended").touch()
    resume_and_run(batch, only=[Task.objects.get(title="bad").id])
    assert statuses(batch) == {"good": "COMPLETED", "bad": "COMPLETED", "after": "SKIPPED"}
    assert (batch.status, counters(batch)) == ("PARTIAL", {"completed": 2, "skipped": 1})


def test_a_named_task_that_is_not_in_the_batch_is_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    batch = half_done(workspace, tmp_path)
    with pytest.raises(InvalidTasks, match="not in batch"):
        resume(batch=batch, only=[uuid.uuid4()], send=False)
    with pytest.raises(InvalidTasks, match="good is merged"):
        resume(batch=batch, only=[Task.objects.get(title="good").id], send=False)
    batch.refresh_from_db()
    assert batch.status == "PARTIAL"


def test_a_completed_batch_is_not_resumed(workspace: Workspace) -> None:
    make_task(workspace)
    batch = run_batch(make_batch(workspace))
    for force in (False, True):
        with pytest.raises(InvalidState, match="COMPLETED"):
            resume(batch=batch, force=force, send=False)


def test_an_active_batch_is_not_resumed(workspace: Workspace) -> None:
    make_task(workspace)
    batch = make_batch(workspace)
    with pytest.raises(InvalidState, match="PENDING"):
        resume(batch=batch, send=False)


def test_a_failed_batch_is_resumed(workspace: Workspace, tmp_path: Path) -> None:
    make_task(workspace, "a", f"sh test -e {tmp_path}/mended", "write a.txt x")
    batch = run_batch(make_batch(workspace))
    assert batch.status == "FAILED"
    (tmp_path / "mended").touch()
    resume_and_run(batch)
    assert (batch.status, batch.reason, batch.message) == ("COMPLETED", "", "")


def test_a_cancelled_batch_is_resumed(workspace: Workspace, tmp_path: Path) -> None:
    go = tmp_path / "go"
    a = make_task(workspace, "a", f"wait-file {go}", "write a.txt x")
    make_task(workspace, "b", after=[a])
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: task_status(a) == "IN_PROGRESS")
        stop(batch, reason="lunch")
    go.touch()
    resume_and_run(batch)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 2})
    assert (batch.stop_mode, batch.stop_reason) == ("", "")


def test_a_batch_cancelled_before_its_start_is_resumed(workspace: Workspace) -> None:
    make_task(workspace)
    batch = make_batch(workspace)
    stop(batch)
    batch.refresh_from_db()
    resume_and_run(batch)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 1})


def test_a_batch_that_only_its_gates_held_back_is_validated_and_landed(tmp_path: Path) -> None:
    """Fault 77: a resume found no failed task, and did nothing."""
    gate = f"test -e {tmp_path}/mended || test ! -e b.txt -o ! -e a.txt"
    gates = [{"name": "own", "argv": ["sh", "-c", gate]}]
    workspace = make_workspace(tmp_path, gates_waived=False, gates=gates)
    make_task(workspace, "a", f"count {tmp_path}/starts", "write a.txt x")
    make_task(workspace, "b", f"count {tmp_path}/starts", "write b.txt x")
    apart = tmp_path / "apart"
    Task.objects.filter(title="b").update(description=_meeting(apart, "b", "a", tmp_path))
    Task.objects.filter(title="a").update(description=_meeting(apart, "a", "b", tmp_path))
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.reason) == ("PARTIAL", "gate_failed")
    assert set(statuses(batch).values()) == {"COMPLETED"}
    assert batch.landing == ""

    (tmp_path / "mended").touch()
    resume_and_run(batch)
    assert (batch.status, batch.verification, batch.landing) == ("COMPLETED", "passed", "landed")
    assert len(lines(tmp_path / "starts")) == 2
    assert Event.objects.filter(type="RUN_STARTED").count() == 2


def _meeting(folder: Path, name: str, other: str, log: Path) -> str:
    """Two agents that wait for each other, so that both work on the same base."""
    steps = [
        f"count {log}/starts",
        f"touch {folder}/{name}",
        f"wait-file {folder}/{other}",
        f"write {name}.txt x",
    ]
    return "agent:\n" + "\n".join(steps) + "\n"


def test_a_conflict_is_resolved_by_a_resume(workspace: Workspace, tmp_path: Path) -> None:
    """Case 45: done again on the integrated work, it fits."""
    first, second = conflicting(workspace, tmp_path)
    batch = make_batch(workspace)
    run_into_conflict(batch, first, tmp_path)
    assert batch.status == "PARTIAL"
    resume_and_run(batch, by="ada")
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 2})
    assert (repository(workspace) / "same.txt").read_text() == "two\n"
    assert last_run(second).base_commit != Run.objects.get(task=second, round=1).base_commit
    blocker = Blocker.objects.get()
    assert (blocker.status, blocker.answered_by) == ("ANSWERED", "ada")


def test_a_refused_resume_answers_no_question(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 24, the same kind: a guard that came after the change."""
    first, second = conflicting(workspace, tmp_path)
    batch = make_batch(workspace)
    run_into_conflict(batch, first, tmp_path)
    make_batch(workspace, [make_task(workspace, "other")])
    with pytest.raises(WorkspaceBusy):
        resume(batch=batch, send=False)
    assert Blocker.objects.get().status == "OPEN"
    assert task_status(second) == "BLOCKED"


def test_a_task_with_an_open_question_is_left_out(workspace: Workspace, tmp_path: Path) -> None:
    batch = half_done(workspace, tmp_path)
    bad = Task.objects.get(title="bad")
    move_task(task=bad, to=TaskStatus.READY)
    open_blocker(task_id=bad.id, run_id=None, reason="question", question="Which tea?")
    (tmp_path / "mended").touch()
    resume_and_run(batch)
    assert len(lines(tmp_path / "bad")) == 1
    assert statuses(batch)["bad"] == "FAILED"
    assert reasons(batch)["after"] == "dependency_failed"


def test_a_crash_before_anything_does_not_inherit_an_earlier_good_end(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Fault 14: a child that died early reported the newest run's status, even COMPLETED."""
    task = make_task(workspace, "a", "sh test $CODEFRAME_ATTEMPT = 1", "write a.txt x", priority=0)
    make_task(workspace, "b", "exit 1", priority=1)
    batch = run_batch(make_batch(workspace, land="none"))
    assert last_run(task).status == "COMPLETED"
    resume_and_run(batch, force=True)
    assert last_run(task).status == "FAILED"
    assert batch.status == "FAILED"


def test_a_resumed_batch_lands_on_a_base_that_went_on(workspace: Workspace, tmp_path: Path) -> None:
    batch = half_done(workspace, tmp_path)
    commit(repository(workspace), {"meanwhile.txt": "mine\n"}, "by hand")
    (tmp_path / "mended").touch()
    resume_and_run(batch)
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    assert git(repository(workspace), "status", "--porcelain") == ""
    for name in ("meanwhile.txt", "good.txt", "bad.txt"):
        assert (repository(workspace) / name).exists()


def test_nothing_is_claimed_of_a_finished_batch(workspace: Workspace, tmp_path: Path) -> None:
    batch = half_done(workspace, tmp_path)
    before = Event.objects.count()
    assert not execute_batch(batch.id)
    assert Event.objects.count() == before
