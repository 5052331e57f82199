"""Every pair of a batch's states, and every verb on a batch in every state, on the database."""

from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from batches import lifecycle
from batches.errors import Fenced, InvalidState
from batches.lifecycle import moves
from batches.models import Batch, Run
from batches.models.batch import ACTIVE, BATCH_TRANSITIONS, BatchStatus, StopMode
from batches.models.run import LIVE, RunStatus
from tests.architecture.pages import undocumented_keys
from tests.architecture.rows import (
    events_since,
    last_seq,
    lease_of,
    make_batch,
    make_events_impossible,
    make_run,
    picture,
)

pytestmark = pytest.mark.django_db
Verb = Callable[[Batch], object]
PAIRS = list(product(BatchStatus, BatchStatus))
EVENT_OF = {
    BatchStatus.PENDING: "BATCH_RESUMED",
    BatchStatus.RUNNING: "BATCH_STARTED",
    BatchStatus.CANCELLING: "BATCH_STOPPING",
}
WITHOUT_A_MOVE = {
    "claim": "BATCH_TAKEN_OVER",
    "stop": "BATCH_STOPPING",
    "cancel": "BATCH_STOPPING",
}
"""Verbs that change a batch and leave its status: a takeover, and a second order to stop."""


def _finish(status: BatchStatus) -> Verb:
    return lambda batch: lifecycle.finish_batch(lease=lease_of(batch), status=status)


def _claim(batch: Batch) -> object:
    return lifecycle.claim_batch(batch_id=batch.id, owner="another")


def _resume(batch: Batch) -> object:
    return lifecycle.resume_batch(batch=batch, runs=list(batch.runs.all()), by="Ada")


VERBS: dict[str, Verb] = {
    "claim": _claim,
    "stop": lambda batch: lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.STOP),
    "cancel": lambda batch: lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.CANCEL),
    "finish completed": _finish(BatchStatus.COMPLETED),
    "finish partial": _finish(BatchStatus.PARTIAL),
    "finish failed": _finish(BatchStatus.FAILED),
    "finish cancelled": _finish(BatchStatus.CANCELLED),
    "fail": lambda batch: lifecycle.fail_batch(lease=lease_of(batch), message="broke"),
    "resume": _resume,
}
CASES = [(verb, source) for verb in VERBS for source in BatchStatus]


def _batch_with_a_run(status: BatchStatus, verb: str) -> Batch:
    batch = make_batch(status, leased=verb != "claim")
    make_run(RunStatus.QUEUED if status in ACTIVE else RunStatus.CANCELLED, batch=batch)
    return batch


def test_the_table_has_every_status() -> None:
    assert set(BATCH_TRANSITIONS) == set(BatchStatus)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_one_mover_follows_the_table(source: BatchStatus, target: BatchStatus) -> None:
    batch = make_batch(source)
    finished_at = None if target in ACTIVE else timezone.now()
    changes = {"stop_mode": StopMode.STOP, "finished_at": finished_at}
    before = picture()
    if target in BATCH_TRANSITIONS[source]:
        moves.move_batch(batch, target, changes=changes)
        batch.refresh_from_db()
        assert batch.status == target
    else:
        with pytest.raises(InvalidState, match=f"is {source} and cannot become {target}"):
            moves.move_batch(batch, target, changes=changes)
        assert picture() == before


@pytest.mark.parametrize(("verb", "source"), CASES)
def test_a_verb_moves_by_the_table_with_its_event_or_writes_nothing(
    verb: str, source: BatchStatus
) -> None:
    batch = _batch_with_a_run(source, verb)
    before, runs_before = picture(), dict(Run.objects.values_list("id", "status"))
    try:
        done = VERBS[verb](batch)
    except (InvalidState, Fenced):
        done = None
    if done is None and picture() == before:
        return
    batch.refresh_from_db()
    events = events_since(0)
    of_batch = [event.type for event in events if event.type.startswith("BATCH_")]
    if batch.status == source:
        assert of_batch == [WITHOUT_A_MOVE[verb]]
    else:
        assert batch.status in BATCH_TRANSITIONS[source]
        assert of_batch == [EVENT_OF.get(BatchStatus(batch.status), f"BATCH_{batch.status}")]
    assert (batch.finished_at is None) == (batch.status in ACTIVE)
    assert [undocumented_keys(event) for event in events] == [set()] * len(events)
    told = {event.run_id: event.type for event in events if event.run_id}
    assert told == {
        run.id: f"RUN_{run.status}"
        for run in Run.objects.all()
        if run.id in runs_before and runs_before[run.id] != run.status
    }


@pytest.mark.parametrize(("verb", "source"), CASES)
def test_a_verb_whose_event_fails_writes_nothing(verb: str, source: BatchStatus) -> None:
    batch = _batch_with_a_run(source, verb)
    make_events_impossible(batch.workspace)
    before = picture()
    try:
        with transaction.atomic():
            VERBS[verb](batch)
    except (InvalidState, Fenced, IntegrityError):
        pass
    assert picture() == before


def test_every_allowed_move_is_made_by_some_verb() -> None:
    made = set()
    for verb, source in CASES:
        with transaction.atomic():
            batch = _batch_with_a_run(source, verb)
            with suppress(InvalidState, Fenced):
                VERBS[verb](batch)
            batch.refresh_from_db()
            made.add((source, BatchStatus(batch.status)))
            transaction.set_rollback(True)
    allowed = {(a, b) for a, b in PAIRS if b in BATCH_TRANSITIONS[a]}
    assert {pair for pair in made if pair[0] != pair[1]} == allowed


@pytest.mark.parametrize(
    ("verb", "source"), [("cancel", BatchStatus.PENDING), ("fail", BatchStatus.RUNNING)]
)
def test_who_closes_a_batch_without_its_conductor_ends_its_runs(
    verb: str, source: BatchStatus
) -> None:
    batch = _batch_with_a_run(source, verb)
    VERBS[verb](batch)
    batch.refresh_from_db()
    assert batch.status not in ACTIVE
    assert not batch.runs.filter(status__in=LIVE).exists()
    assert batch.cancelled == 1


def test_a_cancel_is_never_taken_back_to_a_stop() -> None:
    batch = make_batch(BatchStatus.RUNNING)
    lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.CANCEL)
    with pytest.raises(InvalidState):
        lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.STOP)
    batch.refresh_from_db()
    assert batch.stop_mode == StopMode.CANCEL
    assert last_seq(batch.workspace) == 1
