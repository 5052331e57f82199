"""What others watch the server by: /ready and /metrics."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from batches import worker_files
from batches.models.batch import BatchStatus
from codeframe_site.tokens import make_token
from tests.codeframe_site.rows import batch_row, run_row, workspace_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def nobody() -> Client:
    return Client(raise_request_exception=False)


def problems(client: Client) -> tuple[int, dict[str, str]]:
    response = client.get("/ready")
    parts = response.json()["parts"]
    return response.status_code, {name: part["problem"] for name, part in parts.items()}


def test_without_a_worker_it_is_not_ready(nobody: Client) -> None:
    status, told = problems(nobody)
    assert (status, told["database"]) == (503, "")
    assert "no worker" in told["workers"]


def test_with_everything_there_it_is_ready(nobody: Client) -> None:
    with worker_files.announced():
        assert problems(nobody) == (200, {"database": "", "workers": "", "queue": ""})


def test_a_batch_that_nobody_picks_up_says_that_the_queue_stands(nobody: Client) -> None:
    batch = batch_row(workspace_row(), BatchStatus.PENDING)
    type(batch).objects.update(created_at="2020-01-01T00:00:00Z")
    with worker_files.announced():
        status, told = problems(nobody)
    assert status == 503
    assert "has waited" in told["queue"]


def test_a_database_that_is_gone_is_told(nobody: Client) -> None:
    def gone(*_: Any) -> None:
        raise OperationalError("the server closed the connection\nand more")

    with connection.execute_wrapper(gone):
        status, told = problems(nobody)
    assert (status, told["database"]) == (503, "the server closed the connection")
    assert "queue" not in told


def test_figures_are_for_staff(nobody: Client) -> None:
    run_row(batch_row(workspace_row()))
    staff = User.objects.create_user("ada", is_staff=True)
    _, key = make_token(user=staff, name="t")
    _, other = make_token(user=User.objects.create_user("bob"), name="t")
    for headers in ({}, {"X-API-Key": "wrong"}, {"X-API-Key": other}):
        refused = nobody.get("/metrics", headers=headers)
        assert (refused.status_code, refused.json()["detail"]["code"]) == (401, "UNAUTHORIZED")
    text = nobody.get("/metrics", headers={"X-API-Key": key}).content.decode()
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["codeframe_batches", "COMPLETED"] == 1
    assert samples["codeframe_runs", "COMPLETED"] == 1
    assert samples["codeframe_events_total",] == 1
    assert ("codeframe_loop_lag_p99_seconds",) in samples
    _, limited = make_token(user=staff, name="l", workspaces=[])
    refused = nobody.get("/metrics", headers={"X-API-Key": limited})
    assert (refused.status_code, refused.json()["detail"]["code"]) == (403, "FORBIDDEN")
    nobody.force_login(staff)
    assert nobody.get("/metrics").status_code == 200
