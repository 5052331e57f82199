"""Every pair of a task's states, tried on the database."""

from itertools import product

import pytest
from django.db import IntegrityError

from tasks.errors import InvalidTransition
from tasks.lifecycle import move_task, shift_task, shift_tasks
from tasks.models.task import TASK_TRANSITIONS, TaskStatus
from tests.architecture.pages import undocumented_keys
from tests.architecture.rows import (
    events_since,
    make_events_impossible,
    make_task,
    make_workspace,
    picture,
)

pytestmark = pytest.mark.django_db
PAIRS = list(product(TaskStatus, TaskStatus))
ALLOWED = [(a, b) for a, b in PAIRS if b in TASK_TRANSITIONS[a]]
FORBIDDEN = [(a, b) for a, b in PAIRS if b not in TASK_TRANSITIONS[a]]


def test_the_table_has_every_status() -> None:
    assert set(TASK_TRANSITIONS) == set(TaskStatus)


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_an_allowed_move_happens_with_its_event(source: TaskStatus, target: TaskStatus) -> None:
    task = make_task(source)
    move_task(task=task, to=target, why="a test")
    task.refresh_from_db()
    assert task.status == target
    [event] = events_since(0)
    assert (event.type, event.task_id) == ("TASK_STATUS", task.id)
    assert event.payload == {"status": target, "why": "a test"}
    assert undocumented_keys(event) == set()


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_a_move_whose_event_fails_does_not_happen(source: TaskStatus, target: TaskStatus) -> None:
    task = make_task(source)
    make_events_impossible(task.workspace)
    before = picture()
    with pytest.raises(IntegrityError):
        move_task(task=task, to=target)
    assert picture() == before


@pytest.mark.parametrize(("source", "target"), FORBIDDEN)
def test_a_forbidden_move_raises_and_writes_nothing(source: TaskStatus, target: TaskStatus) -> None:
    task = make_task(source)
    before = picture()
    with pytest.raises(InvalidTransition, match=f"is {source} cannot become {target}"):
        move_task(task=task, to=target)
    assert shift_task(task_id=task.id, to=target) is None
    assert shift_tasks(task_ids=[task.id], to=target) == []
    assert picture() == before


@pytest.mark.parametrize("target", TaskStatus)
def test_of_many_tasks_exactly_those_that_may_move_do(target: TaskStatus) -> None:
    workspace = make_workspace()
    tasks = {source: make_task(source, workspace=workspace) for source in TaskStatus}
    events = shift_tasks(task_ids=[task.id for task in tasks.values()], to=target)
    may = {source for source in TaskStatus if target in TASK_TRANSITIONS[source]}
    assert {event.task_id for event in events} == {tasks[source].id for source in may}
    for source, task in tasks.items():
        task.refresh_from_db()
        assert task.status == (target if source in may else source)
