"""The main job, from rows to the landed branch, with real git and real agents."""

from pathlib import Path

import pytest

from batches.jobs import execute_batch
from batches.models import Batch, Run
from tasks.models import Event, Task
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

pytestmark = pytest.mark.django_db(transaction=True)


def statuses(batch: Batch) -> dict[str, str]:
    rows = Run.objects.filter(batch=batch, superseded=False)
    return dict(rows.values_list("title", "status"))


def test_a_diamond_is_run_integrated_and_landed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    a = make_task(workspace, "a", "write a.txt one")
    b = make_task(workspace, "b", "append a.txt two", after=[a])
    c = make_task(workspace, "c", "write c.txt three", after=[a])
    d = make_task(workspace, "d", "write d.txt four", "print done", after=[b, c])
    batch = make_batch(workspace, [d, c, b, a])

    assert execute_batch(batch.id)

    batch.refresh_from_db()
    assert batch.status == "COMPLETED", batch.message
    assert set(statuses(batch).values()) == {"COMPLETED"}
    repo = Path(workspace.repo_path)
    assert (repo / "a.txt").read_text() == "one\ntwo\n"
    assert (repo / "d.txt").read_text() == "four\n"
    assert git(repo, "status", "--porcelain") == ""
    assert batch.landing == "landed"
    assert set(Task.objects.values_list("status", flat=True)) == {"MERGED"}
    seqs = list(Event.objects.filter(workspace=workspace).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
