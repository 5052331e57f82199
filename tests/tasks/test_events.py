"""The event log: numbers without gaps, and no event without its change."""

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from tasks.events.log import NewEvent, record, record_one
from tasks.lifecycle import move_task
from tasks.models import Event, EventCounter, Workspace
from tasks.models.task import TaskStatus
from tests.factories import make_task, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS, EACH = 8, 25


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def numbers(workspace: Workspace) -> list[int]:
    rows = Event.objects.filter(workspace=workspace).order_by("seq")
    return list(rows.values_list("seq", flat=True))


def at_once(work: Callable[[int], None], count: int) -> None:
    errors: list[BaseException] = []

    def call(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=call, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_numbers_have_no_gaps_under_concurrent_writers(workspace: Workspace) -> None:
    """Case 18: several writers, and no "database is locked"."""

    def write(writer: int) -> None:
        for n in range(EACH):
            with transaction.atomic():
                two = n % 2 + 1
                events = [NewEvent(type="TEST", payload={"writer": writer, "n": n})] * two
                record(workspace_id=workspace.id, events=events)

    at_once(write, WRITERS)
    total = WRITERS * sum(n % 2 + 1 for n in range(EACH))
    assert numbers(workspace) == list(range(1, total + 1))
    for writer in range(WRITERS):
        rows = Event.objects.filter(payload__writer=writer).order_by("seq")
        seen = [event.payload["n"] for event in rows]
        assert seen == sorted(seen)


def test_a_higher_number_is_never_seen_before_a_lower_one(workspace: Workspace) -> None:
    """Case 54: a reader by cursor misses nothing. The reader watches while others write."""
    ended = threading.Event()
    seen: list[int] = []

    def read(_: int) -> None:
        cursor = 0
        while True:
            last_look = ended.is_set()
            page = list(Event.objects.filter(workspace=workspace, seq__gt=cursor).order_by("seq"))
            seen.extend(event.seq for event in page)
            cursor = page[-1].seq if page else cursor
            if last_look and not page:
                return

    def write(_: int) -> None:
        for _n in range(EACH):
            with transaction.atomic():
                record_one(workspace_id=workspace.id, type="TEST")

    reader = threading.Thread(target=at_once, args=(read, 1))
    reader.start()
    try:
        at_once(write, WRITERS)
    finally:
        ended.set()
        reader.join()
    assert seen == list(range(1, WRITERS * EACH + 1))


def test_each_workspace_has_numbers_of_its_own(workspace: Workspace, tmp_path: Path) -> None:
    other = make_workspace(tmp_path, name="other")
    for each in (workspace, other, workspace):
        with transaction.atomic():
            record_one(workspace_id=each.id, type="TEST")
    assert (numbers(workspace), numbers(other)) == ([1, 2], [1])


def test_a_workspace_without_a_counter_gets_one(workspace: Workspace) -> None:
    EventCounter.objects.all().delete()

    def write(_: int) -> None:
        with transaction.atomic():
            record_one(workspace_id=workspace.id, type="TEST")

    at_once(write, 4)
    assert numbers(workspace) == [1, 2, 3, 4]


def test_a_change_that_is_rolled_back_leaves_no_event_and_no_gap(workspace: Workspace) -> None:
    task = make_task(workspace, status=TaskStatus.BACKLOG)

    class Undone(Exception):
        pass

    def move_and_undo() -> None:
        with transaction.atomic():
            move_task(task=task, to=TaskStatus.READY)
            raise Undone

    with pytest.raises(Undone):
        move_and_undo()
    task.refresh_from_db()
    assert (task.status, numbers(workspace)) == ("BACKLOG", [])
    move_task(task=task, to=TaskStatus.READY)
    assert numbers(workspace) == [1]


def test_events_are_refused_outside_a_transaction(workspace: Workspace) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        record_one(workspace_id=workspace.id, type="TEST")
    assert numbers(workspace) == []


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\0b", "a\u2400b"),
        ("\ud800", "?"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (b"\xe9", "\ufffd"),
        (Decimal("1.50"), "1.50"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02 00:00:00+00:00"),
        ((1, 2), [1, 2]),
        ({1: {"\0": None}}, {"1": {"\u2400": None}}),
        (2**70, 2**70),
        (True, True),
    ],
)
def test_any_payload_is_stored(workspace: Workspace, value: Any, stored: Any) -> None:
    """Fault 33: one value that JSON does not know lost the event."""
    with transaction.atomic():
        record_one(workspace_id=workspace.id, type="TEST", payload={"value": value})
    assert Event.objects.get().payload == {"value": stored}


def test_ids_of_any_kind_are_stored_as_text(workspace: Workspace) -> None:
    """Fault 33: a UUID could not be carried."""
    number = uuid.uuid4()
    with transaction.atomic():
        record_one(workspace_id=workspace.id, type="TEST", payload={"ids": {number}}, run_id=number)
    event = Event.objects.get()
    assert (event.payload, event.run_id) == ({"ids": [str(number)]}, number)
