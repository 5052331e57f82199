from pathlib import Path

import pytest

from batches.models import CommandEngine
from tests.api.conftest import Api
from tests.factories import make_task, make_workspace
from tests.fakes import AGENT

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_batch_is_started_seen_and_cancelled(tmp_path: Path, api: Api) -> None:
    workspace = make_workspace(tmp_path)
    CommandEngine.objects.create(name="agent", argv=AGENT)
    task = make_task(workspace, "a")
    status, body = api("POST", "tasks/execute", {"task_ids": [str(task.id)]})
    assert status == 200, body
    batch_id = body["batch_id"]
    status, busy = api("POST", "tasks/execute", {})
    assert status == 409
    assert batch_id[:8] in busy["detail"]["detail"]
    status, body = api("GET", f"batches/{batch_id}")
    assert status == 200
    assert body["results"][str(task.id)]["status"] == "QUEUED"
    status, body = api("POST", f"batches/{batch_id}/cancel", {})
    assert (status, body["status"]) == (200, "CANCELLED")
    status, body = api("POST", f"batches/{batch_id}/cancel", {})
    assert (status, body["detail"]["error"]) == (400, "Cannot cancel batch")
    status, body = api("GET", "tasks?limit=1")
    assert status == 200
    assert body["tasks"][0]["title"] == "a"
