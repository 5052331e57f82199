"""Every pair of a run's states, and every verb on a run in every state, on the database."""

from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from batches import lifecycle
from batches.errors import Fenced, InvalidState
from batches.lifecycle import moves
from batches.models import Run
from batches.models.run import LIVE, RUN_TRANSITIONS, RunStatus
from batches.reasons import Reason
from batches.results import RunResult
from tests.architecture.pages import undocumented_keys
from tests.architecture.rows import (
    events_since,
    lease_of,
    make_events_impossible,
    make_run,
    picture,
)

pytestmark = pytest.mark.django_db
Verb = Callable[[Run], object]
PAIRS = list(product(RunStatus, RunStatus))
ENDS = [status for status in RunStatus if status in RUN_TRANSITIONS[RunStatus.RUNNING]]
DROPS = [RunStatus.SKIPPED, RunStatus.CANCELLED]


def _result(status: RunStatus) -> RunResult:
    reason = None if status == RunStatus.COMPLETED else Reason.ENGINE_ERROR
    return RunResult(status=status, reason=reason, message="so it ended")


def _finish(status: RunStatus) -> Verb:
    return lambda run: lifecycle.finish_run(
        lease=lease_of(run.batch), run=run, result=_result(status)
    )


def _drop(status: RunStatus) -> Verb:
    return lambda run: lifecycle.drop_runs(
        lease=lease_of(run.batch), runs=[run], status=status, reason=Reason.CANCELLED
    )


def _retry(run: Run) -> object:
    result = _result(RunStatus.FAILED)
    return lifecycle.retry_run(lease=lease_of(run.batch), run=run, result=result, delay_s=1)


VERBS: dict[str, Verb] = {
    "start": lambda run: lifecycle.start_run(lease=lease_of(run.batch), run=run),
    "retry": _retry,
    "stop": lambda run: lifecycle.stop_run(run=run, by="Ada"),
    **{f"finish {status}": _finish(status) for status in ENDS},
    **{f"drop {status}": _drop(status) for status in DROPS},
}
CASES = [(verb, source) for verb in VERBS for source in RunStatus]
REFUSALS = (InvalidState, Fenced)


def test_the_table_has_every_status() -> None:
    assert set(RUN_TRANSITIONS) == set(RunStatus)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_one_mover_follows_the_table(source: RunStatus, target: RunStatus) -> None:
    run = make_run(source)
    finished_at = None if target in LIVE else timezone.now()
    before = picture()
    if target in RUN_TRANSITIONS[source]:
        moves.move_run(run.id, target, finished_at=finished_at)
        run.refresh_from_db()
        assert run.status == target
    else:
        with pytest.raises(InvalidState, match=f"cannot become {target}"):
            moves.move_run(run.id, target, finished_at=finished_at)
        assert picture() == before


@pytest.mark.parametrize(("verb", "source"), CASES)
def test_a_verb_moves_by_the_table_with_its_event_or_writes_nothing(
    verb: str, source: RunStatus
) -> None:
    run = make_run(source)
    before = picture()
    try:
        VERBS[verb](run)
    except REFUSALS:
        assert picture() == before
    run.refresh_from_db()
    if picture() == before:
        return
    events = events_since(0)
    assert [undocumented_keys(event) for event in events] == [set()] * len(events)
    of_run = [event.type for event in events if event.run_id == run.id and "RUN" in event.type]
    if verb == "stop":
        assert (run.status, of_run) == (source, ["RUN_STOPPING"])
        return
    assert run.status in RUN_TRANSITIONS[source]
    ended = "STARTED" if run.status == RunStatus.RUNNING else run.status
    assert of_run == [f"RUN_{ended}"]
    assert (run.finished_at is None) == (run.status in LIVE)


@pytest.mark.parametrize(("verb", "source"), CASES)
def test_a_verb_whose_event_fails_writes_nothing(verb: str, source: RunStatus) -> None:
    run = make_run(source)
    make_events_impossible(run.batch.workspace)
    before = picture()
    try:
        with transaction.atomic():
            VERBS[verb](run)
    except (*REFUSALS, IntegrityError):
        pass
    assert picture() == before


def test_every_allowed_move_is_made_by_some_verb() -> None:
    made = set()
    for verb, source in CASES:
        with transaction.atomic():
            run = make_run(source)
            with suppress(*REFUSALS):
                VERBS[verb](run)
            run.refresh_from_db()
            made.add((source, RunStatus(run.status)))
            transaction.set_rollback(True)
    allowed = {(a, b) for a, b in PAIRS if b in RUN_TRANSITIONS[a]}
    assert {pair for pair in made if pair[0] != pair[1]} == allowed


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "stop"])
def test_without_the_lease_nothing_is_written(verb: str) -> None:
    run = make_run(RunStatus.QUEUED if "drop" in verb or verb == "start" else RunStatus.RUNNING)
    type(run.batch).objects.update(fence=2)
    before = picture()
    with pytest.raises(Fenced):
        VERBS[verb](run)
    assert picture() == before
