"""Many rows in one statement hold what the ORM would have written."""

import uuid
from pathlib import Path

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from batches.models import Run
from batches.models.run import RunStatus
from tasks.bulk import insert_rows
from tasks.models import Event
from tests.factories import make_batch, make_task, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)
COLUMNS = ("id", "task_id", "title", "position")
TITLES = ("plain", "7", "null", '{"a": "$[0]"}', 'it\'s %s \\ "quoted"', "naïve 😀\n\t", " ")


def test_a_row_is_what_saving_an_instance_writes(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace, "only")])
    saved = Run.objects.get(batch=batch)
    Run.objects.filter(id=saved.id).delete()
    cells = (saved.id, saved.task_id, saved.title, saved.position)

    insert_rows(Run, columns=COLUMNS, rows=[cells], batch=batch)

    inserted = Run.objects.get(id=saved.id)
    names = {field.attname for field in Run._meta.concrete_fields} - {"created_at"}
    assert {name: getattr(inserted, name) for name in names} == {
        name: getattr(saved, name) for name in names
    }
    assert inserted.status == RunStatus.QUEUED
    assert inserted.expected_gates == []
    assert inserted.created_at >= saved.created_at


@pytest.mark.parametrize("count", [0, 1, 2_000])
def test_one_statement_whatever_the_number_of_rows(tmp_path: Path, count: int) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    rows = [(uuid.uuid4(), None, f"run {place}", place + 1) for place in range(count)]

    with CaptureQueriesContext(connection) as queries:
        insert_rows(Run, columns=COLUMNS, rows=rows, batch=batch)

    assert len(queries) == 1
    stored = Run.objects.filter(batch=batch, position__gt=0).order_by("position")
    assert list(stored.values_list(*COLUMNS)) == rows


def test_texts_come_back_as_they_went_in(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    rows = [(uuid.uuid4(), None, title, place + 1) for place, title in enumerate(TITLES)]

    insert_rows(Run, columns=COLUMNS, rows=rows, batch=batch)

    stored = Run.objects.filter(batch=batch, position__gt=0).order_by("position")
    assert tuple(stored.values_list("title", flat=True)) == TITLES


def test_json_is_given_as_its_text(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    columns = ("seq", "type", "payload")

    insert_rows(Event, columns=columns, rows=[(1, "X", '{"a": [1, "😀"]}')], workspace=workspace)

    assert Event.objects.get(seq=1).payload == {"a": [1, "😀"]}


def test_constraints_hold_for_all_rows_or_none(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    run_id = uuid.uuid4()
    twice = [(run_id, None, "one", 1), (run_id, None, "two", 2)]

    with pytest.raises(IntegrityError):
        insert_rows(Run, columns=COLUMNS, rows=twice, batch=batch)

    assert Run.objects.filter(batch=batch).count() == 1
