"""What an attempt writes, when, and that none of it is lost."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from batches import lifecycle
from batches.context import RunContext, StageFailed
from batches.errors import Fenced
from batches.models import Batch, Run, Stage
from batches.place import Place
from batches.reasons import Reason
from batches.results import completed, failed
from batches.scope import StopScope
from tasks.events import types
from tasks.models import Event
from tests.factories import make_batch, make_task, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def context(tmp_path: Path) -> RunContext:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    lease = lifecycle.claim_batch(batch_id=batch.id, owner="me")
    assert lease
    run = Run.objects.get(batch=batch)
    assert lifecycle.start_run(lease=lease, run=run)
    return RunContext(
        lease=lease, batch=batch, run=run, scope=StopScope(), place=Place(batch, lease)
    )


def stored(context: RunContext) -> Run:
    return Run.objects.get(id=context.run.id)


def stages(context: RunContext) -> list[tuple[str, str]]:
    return list(Stage.objects.filter(run=context.run).values_list("name", "outcome"))


def test_what_is_put_off_goes_with_the_next_stage(context: RunContext) -> None:
    with context.stage("one"):
        context.save_later(base_commit="abc")
        context.say_later(types.RUN_CAPTURED, {"commit": "abc"})
        assert context.run.base_commit == "abc"
    assert stored(context).base_commit == ""
    with context.stage("two"):
        assert stored(context).base_commit == "abc"
        assert stages(context) == [("one", "ok"), ("two", "")]
        said = Event.objects.filter(run_id=context.run.id).order_by("seq")
        assert list(said.values_list("type", flat=True))[-2:] == ["RUN_CAPTURED", "RUN_STAGE"]


def test_between_two_stages_is_one_transaction(context: RunContext) -> None:
    with context.stage("one"):
        context.save_later(base_commit="abc")
    with CaptureQueriesContext(connection) as queries, context.stage("two"):
        pass
    begun = [query["sql"] for query in queries if query["sql"].startswith("BEGIN")]
    assert len(begun) == 1


def test_a_write_in_the_middle_of_a_stage_leaves_it_open(context: RunContext) -> None:
    with context.stage("one"):
        context.save(agent_started=True)
        assert stored(context).agent_started
        assert stages(context) == [("one", "")]


def test_flushed_facts_are_written_once(context: RunContext) -> None:
    context.save_later(verification="waived")
    context.say_later(types.RUN_CAPTURED, {})
    context.flush()
    context.flush()
    assert stored(context).verification == "waived"
    assert Event.objects.filter(type="RUN_CAPTURED").count() == 1


def test_the_end_of_the_run_takes_along_what_is_left(context: RunContext) -> None:
    context.save_later(base_commit="abc")
    with pytest.raises(StageFailed), context.stage("agent"):
        raise StageFailed(failed(Reason.NO_CHANGES))
    context.save_later(capture_commit="def")
    result = context.conclude(completed(exit_code=3))
    lifecycle.finish_run(lease=context.lease, run=context.run, result=result)
    run = stored(context)
    assert (run.status, run.capture_commit, run.exit_code) == ("COMPLETED", "def", 3)
    stage = Stage.objects.get(run=run)
    assert (stage.outcome, stage.detail) == ("failed", Reason.NO_CHANGES.sentence)
    assert stage.ended_at
    assert run.finished_at
    assert stage.ended_at <= run.finished_at


def test_after_a_take_over_nothing_is_written(context: RunContext) -> None:
    with context.stage("one"):
        context.save_later(base_commit="abc")
    Batch.objects.filter(id=context.batch.id).update(lease_owner="another")
    events = Event.objects.count()
    with pytest.raises(Fenced):
        context.flush()
    with pytest.raises(Fenced), context.stage("two"):
        pytest.fail("the block of a stage that could not begin")
    assert stored(context).base_commit == ""
    assert stages(context) == [("one", "")]
    assert Event.objects.count() == events


@pytest.mark.parametrize(
    "change",
    [
        {"fence": 99},
        {"lease_owner": "you"},
        {"status": "COMPLETED", "finished_at": timezone.now()},
    ],
    ids=["fence", "owner", "ended"],
)
def test_a_lease_holds_only_as_it_was_claimed(context: RunContext, change: dict[str, Any]) -> None:
    lease = context.lease
    lease.require()
    Batch.objects.filter(id=lease.batch_id).update(**change)
    with pytest.raises(Fenced):
        lease.require()
