"""Questions that are answered while the rest of their batch still runs."""

import threading
from pathlib import Path

import pytest
from django.db import connection

from batches import lifecycle
from batches.answering import send_on
from batches.jobs import run_from_queue
from batches.models import Batch
from batches.models.batch import StopMode
from tasks.blockers import answer_blocker
from tasks.models import Blocker, Workspace
from tests.batches.conducting import final_events, last_run, statuses, wait_until
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
ASK_ONCE = 'sh "[ $CODEFRAME_ATTEMPT -gt 1 ] || echo Which? > $CODEFRAME_QUESTION_FILE"'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def from_queue(batch: Batch) -> None:
    try:
        run_from_queue(str(batch.id))
    finally:
        connection.close()


def test_an_answer_is_gone_on_with_when_the_rest_has_ended(
    workspace: Workspace, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    asks = make_task(workspace, "asks", ASK_ONCE, "write asked.txt yes")
    make_task(workspace, "after", "write after.txt yes", after=[asks])
    make_task(workspace, "long", f"wait-file {go}", "write long.txt yes")
    batch = make_batch(workspace, send=True)
    thread = threading.Thread(target=from_queue, args=(batch,))
    thread.start()
    try:
        wait_until(lambda: last_run(asks, batch).status == "BLOCKED", "it asks")
        blocker = answer_blocker(blocker=Blocker.objects.get(task=asks), answer="red", by="ann")
        told = send_on(blocker=blocker, by="ann")
        assert "goes on with it when the rest has ended" in told.message
    finally:
        go.touch()
        thread.join(120)
    batch.refresh_from_db()
    assert batch.status == "COMPLETED", batch.message
    assert set(statuses(batch).values()) == {"COMPLETED"}
    assert final_events(batch) == ["BATCH_PARTIAL", "BATCH_COMPLETED"]


def test_a_batch_that_was_stopped_does_not_go_on_by_itself(
    workspace: Workspace, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    asks = make_task(workspace, "asks", ASK_ONCE, "write asked.txt yes")
    make_task(workspace, "long", f"wait-file {go}")
    batch = make_batch(workspace, send=True)
    thread = threading.Thread(target=from_queue, args=(batch,))
    thread.start()
    try:
        wait_until(lambda: last_run(asks, batch).status == "BLOCKED", "it asks")
        answer_blocker(blocker=Blocker.objects.get(task=asks), answer="red", by="ann")
        lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.STOP, reason="enough")
    finally:
        go.touch()
        thread.join(120)
    batch.refresh_from_db()
    assert (batch.round, statuses(batch)["asks"]) == (1, "BLOCKED")
