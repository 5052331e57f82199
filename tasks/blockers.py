"""Questions that stop a task until a person answers."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from tasks.errors import Conflict, InvalidTransition
from tasks.events import types
from tasks.events.log import NewEvent, record, record_one
from tasks.lifecycle import shift_task
from tasks.models import Blocker, Task
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus
from tasks.text import stored


def open_blocker(
    *, task_id: UUID, run_id: UUID | None, reason: str, question: str
) -> tuple[Blocker, NewEvent]:
    """For a caller's own transaction, which records the event."""
    blocker = Blocker.objects.create(
        task_id=task_id, run_id=run_id, reason=reason, question=stored(question)
    )
    payload = {"blocker_id": str(blocker.id), "reason": reason, "question": blocker.question}
    event = NewEvent(type=types.BLOCKER_CREATED, task_id=task_id, run_id=run_id, payload=payload)
    return blocker, event


def answer_blocker(*, blocker: Blocker, answer: str, by: str) -> Blocker:
    """Closes it; the task goes back to READY when no other question is open."""
    with transaction.atomic():
        task = Task.objects.select_for_update(no_key=True).get(id=blocker.task_id)
        answered = Blocker.objects.filter(id=blocker.id, status=BlockerStatus.OPEN).update(
            status=BlockerStatus.ANSWERED,
            answer=stored(answer),
            answered_by=by,
            answered_at=timezone.now(),
        )
        if not answered:
            raise Conflict("this question was answered already")
        events = [
            NewEvent(
                type=types.BLOCKER_ANSWERED,
                task_id=task.id,
                run_id=blocker.run_id,
                payload={"blocker_id": str(blocker.id), "by": by},
            )
        ]
        if not task.blockers.filter(status=BlockerStatus.OPEN).exists():
            moved = shift_task(task_id=task.id, to=TaskStatus.READY, why="questions answered")
            events += [moved] if moved else []
        record(workspace_id=task.workspace_id, events=events)
    blocker.refresh_from_db()
    return blocker


def ask(*, task: Task, question: str, by: str) -> Blocker:
    """A question by a person; the same open question of a task is asked once."""
    with transaction.atomic():
        Task.objects.select_for_update(no_key=True).get(id=task.id)
        text = stored(question)
        same = task.blockers.filter(status=BlockerStatus.OPEN, question=text).first()
        if same:
            return same
        blocker, event = open_blocker(
            task_id=task.id, run_id=None, reason="question", question=text
        )
        record(workspace_id=task.workspace_id, events=[event])
    return blocker


def resolve_blocker(*, blocker: Blocker) -> Blocker:
    """ANSWERED -> RESOLVED. Raises InvalidTransition."""
    with transaction.atomic():
        moved = Blocker.objects.filter(id=blocker.id, status=BlockerStatus.ANSWERED).update(
            status=BlockerStatus.RESOLVED
        )
        if not moved:
            raise InvalidTransition("only an answered question can be resolved")
        record_one(
            workspace_id=blocker.task.workspace_id,
            type=types.BLOCKER_RESOLVED,
            task_id=blocker.task_id,
            run_id=blocker.run_id,
            payload={"blocker_id": str(blocker.id)},
        )
    blocker.refresh_from_db()
    return blocker
