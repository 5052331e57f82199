"""`Prefer: wait=N`: few may wait, none for long, and one more is answered at once."""

import threading
import time

import pytest

from batches.api import waiting
from batches.models.batch import BatchStatus
from tests.api.client import Api
from tests.api.rows import known_workspace
from tests.codeframe_site.rows import batch_row, run_row

pytestmark = pytest.mark.django_db(transaction=True)


def stop(api: Api, prefer: str) -> tuple[int, str, float]:
    """Of a run that nobody works on, so that it never comes to rest."""
    batch = batch_row(known_workspace(), BatchStatus.RUNNING)
    run = run_row(batch, "RUNNING")
    began = time.monotonic()
    response = api.raw("POST", f"runs/{run.id}/stop", Prefer=prefer)
    applied = response.headers.get("Preference-Applied", "")
    assert response.headers["Location"] == f"/api/v2/runs/{run.id}"
    return response.status_code, applied, time.monotonic() - began


def test_who_does_not_ask_to_wait_does_not(api: Api) -> None:
    assert stop(api, "respond-async")[:2] == (202, "")


def test_what_does_not_end_in_time_is_202(api: Api) -> None:
    status, applied, took = stop(api, "wait=1")
    assert (status, applied) == (202, "wait=1")
    assert took >= 1


@pytest.mark.parametrize("prefer", ["wait=-1", "wait=x", "wait=", "waits=3", "wait=99999"])
def test_what_is_no_number_of_seconds_is_no_wait(api: Api, prefer: str) -> None:
    assert stop(api, prefer)[:2] == (202, "")


def test_one_more_than_may_wait_is_answered_at_once(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = threading.BoundedSemaphore(1)
    monkeypatch.setattr(waiting, "_places", taken)
    assert taken.acquire(blocking=False)
    status, _, took = stop(api, "wait=30")
    assert status == 202
    assert took < 25
