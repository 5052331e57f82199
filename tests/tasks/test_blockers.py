"""Questions that hold a task until a person answers."""

from pathlib import Path

import pytest
from django.db import transaction

from tasks.blockers import answer_blocker, open_blocker
from tasks.errors import Conflict, InvalidTransition, NotFound
from tasks.events.log import record
from tasks.lifecycle import move_task
from tasks.models import Blocker, Event, Task, Workspace
from tasks.models.task import TaskStatus
from tests.factories import make_task, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def blocked(workspace: Workspace) -> Task:
    return make_task(workspace, status=TaskStatus.BLOCKED)


def ask(task: Task, question: str) -> Blocker:
    with transaction.atomic():
        blocker, event = open_blocker(
            task_id=task.id, run_id=None, reason="question", question=question
        )
        record(workspace_id=task.workspace_id, events=[event])
    return blocker


def test_an_answer_makes_the_task_ready_again(blocked: Task) -> None:
    """Fault 58: nothing ran after an answer."""
    blocker = ask(blocked, "Green or black?")
    answer_blocker(blocker=blocker, answer="Green", by="ada")
    blocked.refresh_from_db()
    assert (blocked.status, blocker.status, blocker.answered_by) == ("READY", "ANSWERED", "ada")
    types = Event.objects.order_by("seq").values_list("type", flat=True)
    assert list(types) == ["BLOCKER_CREATED", "BLOCKER_ANSWERED", "TASK_STATUS"]


def test_a_task_waits_for_every_answer(blocked: Task) -> None:
    """Fault 59: one answer freed a task that had more open questions."""
    first, second = ask(blocked, "Which tea?"), ask(blocked, "Which cup?")
    answer_blocker(blocker=first, answer="Green", by="ada")
    blocked.refresh_from_db()
    assert blocked.status == "BLOCKED"
    answer_blocker(blocker=second, answer="The blue one", by="ada")
    blocked.refresh_from_db()
    assert blocked.status == "READY"


def test_a_second_answer_is_refused(blocked: Task) -> None:
    """Fault 66: two writers of one question."""
    blocker = ask(blocked, "Which tea?")
    answer_blocker(blocker=blocker, answer="Green", by="ada")
    before = Event.objects.count()
    with pytest.raises(Conflict, match="answered already"):
        answer_blocker(blocker=blocker, answer="Black", by="bob")
    blocker.refresh_from_db()
    assert (blocker.answer, blocker.answered_by) == ("Green", "ada")
    assert Event.objects.count() == before


def test_a_refused_move_says_what_is_possible(workspace: Workspace) -> None:
    task = make_task(workspace, status=TaskStatus.MERGED)
    with pytest.raises(
        InvalidTransition, match="MERGED cannot become READY; it can become nothing"
    ):
        move_task(task=task, to=TaskStatus.READY)
    assert not Event.objects.exists()


def test_moving_a_deleted_task_says_so(workspace: Workspace) -> None:
    task = make_task(workspace)
    Task.objects.all().delete()
    with pytest.raises(NotFound, match="does not exist"):
        move_task(task=task, to=TaskStatus.IN_PROGRESS)
