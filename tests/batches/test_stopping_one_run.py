"""One run is stopped; its batch decides what that means for the rest."""

from pathlib import Path

import pytest

from batches import lifecycle
from batches.errors import InvalidState
from batches.models import Run
from tasks.models import Workspace
from tests.batches.conducting import (
    conducting,
    counters,
    kept,
    last_run,
    reasons,
    statuses,
    task_status,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def test_one_run_is_stopped_and_the_others_go_on(workspace: Workspace, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    a = make_task(workspace, "a", "write half.txt a", f"touch {began}", "sleep 300")
    make_task(workspace, "b", f"wait-file {go}", "write b.txt x")
    make_task(workspace, "c", after=[a])
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(began.exists)
        lifecycle.stop_run(run=last_run(a), by="ada")
        wait_until(lambda: last_run(a).status != "RUNNING")
        go.touch()
    assert statuses(batch) == {"a": "CANCELLED", "b": "COMPLETED", "c": "SKIPPED"}
    assert reasons(batch)["a"] == "stopped"
    assert batch.status == "PARTIAL"
    assert task_status(a) == "READY"
    assert kept(last_run(a), "half.txt") == "a"
    with pytest.raises(InvalidState, match="nothing to stop"):
        lifecycle.stop_run(run=last_run(a))


def test_a_batch_whose_only_run_was_stopped_is_cancelled(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Stopped work is never graded as failed work."""
    began = tmp_path / "began"
    task = make_task(workspace, "a", f"touch {began}", "sleep 300")
    batch = make_batch(workspace, max_retries=2)
    with conducting(batch):
        wait_until(began.exists)
        lifecycle.stop_run(run=last_run(task))
    assert (batch.status, batch.reason) == ("CANCELLED", "stopped")
    assert counters(batch) == {"cancelled": 1}
    assert Run.objects.count() == 1
