"""A provider's limit pauses what would be launched, and costs nobody an attempt."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from batches.models import Batch, Run
from costs import pauses
from costs.models import ProviderPause
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    conducting,
    counters,
    event_types,
    run_batch,
    statuses,
    stop,
    wait_until,
)
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]

PROVIDER = "command command"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def limited(seconds: float, until_attempt: int = 2) -> tuple[str, ...]:
    """An agent that meets a limit in its first attempts."""
    line = f'{{"codeframe":"limit","retry_after_s":{seconds},"message":"429"}}'
    script = f"test $CODEFRAME_ATTEMPT -ge {until_attempt} || {{ echo '{line}'; exit 1; }}"
    return (f'sh "{script.replace(chr(34), chr(92) + chr(34))}"', 'write "$CODEFRAME_TASK_ID" x')


def test_a_limit_with_a_reset_pauses_resumes_and_spends_no_attempt(workspace: Workspace) -> None:
    for name in ("a", "b", "c", "d"):
        make_task(workspace, name, *limited(3))
    batch = make_batch(workspace, max_parallel=2, max_retries=0)
    run_batch(batch)
    assert (batch.status, counters(batch)) == ("COMPLETED", {"completed": 4})
    told = event_types(batch, prefix="BATCH_")
    assert "BATCH_PAUSED" in told
    assert "BATCH_UNPAUSED" in told
    refused = Run.objects.filter(batch=batch, reason="rate_limited")
    assert refused.exists()
    assert all(run.superseded for run in refused)
    paused = False
    for event in Event.objects.filter(batch_id=batch.id).order_by("seq"):
        paused = event.type == "BATCH_PAUSED" or (paused and event.type != "BATCH_UNPAUSED")
        assert not (paused and event.type == "RUN_STARTED")
    first, last = ended_and_began(batch)
    assert (last - first).total_seconds() > 2.5  # counted from when the agent ended


def ended_and_began(batch: Batch) -> tuple[datetime, datetime]:
    """The first refusal, and the first start after it."""
    runs = Run.objects.filter(batch=batch)
    refused = runs.filter(reason="rate_limited").order_by("finished_at")[0]
    after = runs.filter(started_at__gt=refused.finished_at, attempt=2).order_by("started_at")[0]
    assert refused.finished_at
    assert after.started_at
    return refused.finished_at, after.started_at


def test_many_limits_in_a_row_use_up_no_attempts(workspace: Workspace) -> None:
    """More often than failures of infrastructure are tried again."""
    make_task(workspace, "a", *limited(0, until_attempt=6))
    batch = run_batch(make_batch(workspace, max_retries=0))
    assert batch.status == "COMPLETED"
    assert ProviderPause.objects.get().strikes == 5


def test_a_pause_holds_for_batches_that_have_not_met_it(workspace: Workspace) -> None:
    """The row is in the database: a worker that starts later finds it there."""
    make_task(workspace, "a")
    pauses.pause(PROVIDER, until=timezone.now() + timedelta(minutes=5), message="quota")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: "BATCH_PAUSED" in event_types(batch), "it is told")
        assert statuses(batch) == {"a": "QUEUED"}
        pauses.lift(PROVIDER)
    assert batch.status == "COMPLETED"


def test_another_provider_is_not_paused(workspace: Workspace) -> None:
    make_task(workspace, "a")
    pauses.pause("anthropic", until=timezone.now() + timedelta(minutes=5))
    assert run_batch(make_batch(workspace)).status == "COMPLETED"


def test_a_paused_batch_can_be_cancelled(workspace: Workspace) -> None:
    make_task(workspace, "a")
    pauses.pause(PROVIDER, until=timezone.now() + timedelta(hours=5))
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: "BATCH_PAUSED" in event_types(batch), "it is told")
        stop(batch)
    assert (batch.status, statuses(batch)) == ("CANCELLED", {"a": "CANCELLED"})
