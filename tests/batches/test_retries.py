"""Further attempts: how many, for which reasons, and that the batch ends once."""

from pathlib import Path

import pytest

from batches import lifecycle
from batches.errors import WorkspaceBusy
from batches.models import Run
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    conducting,
    counters,
    final_events,
    last_run,
    lines,
    run_batch,
    statuses,
    stop,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_a_failed_run_is_tried_again_up_to_max_retries(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "exit 1")
    batch = run_batch(make_batch(workspace, max_retries=2))
    runs = Run.objects.filter(task=task).order_by("attempt")
    shown = list(runs.values_list("attempt", "status", "superseded"))
    assert shown == [(1, "FAILED", True), (2, "FAILED", True), (3, "FAILED", False)]
    assert (batch.status, counters(batch)) == ("FAILED", {"failed": 1})
    assert Event.objects.filter(type="RUN_RETRY").count() == 2
    assert final_events(batch) == ["BATCH_FAILED"]


def test_a_retry_that_completes_makes_the_batch_complete(workspace: Workspace) -> None:
    a = make_task(workspace, "a", "fail-until 3", "write a.txt x")
    make_task(workspace, "b", after=[a])
    batch = run_batch(make_batch(workspace, max_retries=5))
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 2})
    assert last_run(a).attempt == 3
    assert final_events(batch) == ["BATCH_COMPLETED"]


def test_without_a_failure_retries_change_nothing(workspace: Workspace) -> None:
    """Fault 9: the end was told twice when retries were allowed and none was needed."""
    make_task(workspace)
    batch = run_batch(make_batch(workspace, max_retries=3))
    assert final_events(batch) == ["BATCH_COMPLETED"]
    assert Event.objects.filter(type="BATCH_VALIDATED").count() == 1
    assert Run.objects.count() == 1


def test_while_a_task_is_tried_again_the_batch_is_running(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Fault 4: it said FAILED meanwhile, refused a stop and let a second batch start."""
    go, second = tmp_path / "go", tmp_path / "second"
    task = make_task(workspace, "a", "fail-until 2", f"touch {second}", f"wait-file {go}")
    batch = make_batch(workspace, max_retries=1)
    with conducting(batch):
        wait_until(second.exists, "a second attempt")
        batch.refresh_from_db()
        assert (batch.status, batch.finished_at) == ("RUNNING", None)
        assert final_events(batch) == []
        with pytest.raises(WorkspaceBusy):
            lifecycle.refuse_when_busy(workspace.id)
        stop(batch)
    assert batch.status == "CANCELLED"
    assert statuses(batch) == {"a": "CANCELLED"}
    assert task_status(task) == "READY"


def test_an_attempt_is_told_what_went_wrong_before(workspace: Workspace, tmp_path: Path) -> None:
    make_task(
        workspace,
        "a",
        f"sh cp $CODEFRAME_PROMPT_FILE {tmp_path}/prompt-$CODEFRAME_ATTEMPT",
        "stderr the tea was cold",
        "fail-until 2",
        "write a.txt x",
    )
    run_batch(make_batch(workspace, max_retries=1))
    assert "the tea was cold" not in (tmp_path / "prompt-1").read_text().split("---")[-1]
    second = (tmp_path / "prompt-2").read_text()
    assert "did not succeed" in second
    assert "exit code 1" in second


def test_reasons_of_infrastructure_use_up_no_retries(workspace: Workspace, tmp_path: Path) -> None:
    """The agent is killed twice, then the task fails once of its own; one retry is allowed."""
    task = make_task(
        workspace,
        "a",
        f"count {tmp_path}/starts",
        "sh test $CODEFRAME_ATTEMPT -gt 2 || kill -9 $PPID",
        "fail-until 4",
        "write a.txt x",
    )
    batch = run_batch(make_batch(workspace, max_retries=1))
    ended = Run.objects.filter(task=task).order_by("attempt").values_list("reason", flat=True)
    assert list(ended) == ["agent_killed", "agent_killed", "engine_error", ""]
    assert batch.status == "COMPLETED"


def test_infrastructure_is_not_tried_for_ever(workspace: Workspace) -> None:
    """Case 14: attempts were never counted."""
    task = make_task(workspace, "a", "crash")
    batch = run_batch(make_batch(workspace, max_retries=5))
    assert Run.objects.filter(task=task).count() == 4
    assert (batch.status, last_run(task).reason) == ("FAILED", "agent_killed")


def test_a_supervisor_that_is_killed_makes_the_run_lost_and_retried(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Regression: a crashed child left an active run. The supervisor is the agent's parent."""
    task = make_task(
        workspace,
        "a",
        f"count {tmp_path}/starts",
        "sh \"test $CODEFRAME_ATTEMPT -gt 1 || kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)\"",
        "write a.txt x",
    )
    batch = run_batch(make_batch(workspace))
    shown = Run.objects.filter(task=task).order_by("attempt").values_list("status", "reason")
    assert list(shown) == [("LOST", "worker_lost"), ("COMPLETED", "")]
    assert batch.status == "COMPLETED"
    assert len(lines(tmp_path / "starts")) == 2
