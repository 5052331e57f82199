"""The only writer of Task.status: each move is a compare-and-set with its event."""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from tasks.errors import InvalidTransition, NotFound
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.models import Task, Workspace
from tasks.models.task import TASK_TRANSITIONS, TaskStatus


def allowed_from(target: TaskStatus) -> list[TaskStatus]:
    """States from which `target` may be entered."""
    return [source for source, targets in TASK_TRANSITIONS.items() if target in targets]


def move_task(*, task: Task, to: TaskStatus, why: str = "") -> Task:
    """Moves and records; raises InvalidTransition, also when another writer was faster."""
    with transaction.atomic():
        event = shift_task(task_id=task.id, to=to, why=why)
        if event is None:
            raise _refusal(task.id, to)
        record(workspace_id=task.workspace_id, events=[event])
    task.refresh_from_db()
    return task


def shift_task(*, task_id: UUID, to: TaskStatus, why: str = "") -> NewEvent | None:
    """The move alone; None when the task is not in a state that allows it.

    For a caller's own transaction, which records the event it gets (events come last).
    """
    moved = Task.objects.filter(id=task_id, status__in=allowed_from(to)).update(
        status=to, updated_at=timezone.now()
    )
    return _event(task_id, to, why) if moved else None


def shift_tasks(*, task_ids: Iterable[UUID], to: TaskStatus, why: str = "") -> list[NewEvent]:
    """As `shift_task`, for the tasks that can move; the others stay as they are.

    On PostgreSQL the rows are locked in id order, so that two callers never deadlock.
    """
    wanted = list(task_ids)
    movable: QuerySet[Task, UUID] = Task.objects.filter(
        id__in=wanted, status__in=allowed_from(to)
    ).values_list("id", flat=True)
    ids = set(movable.order_by("id").select_for_update(no_key=True))
    Task.objects.filter(id__in=ids).update(status=to, updated_at=timezone.now())
    return [_event(task_id, to, why) for task_id in wanted if task_id in ids]


def _event(task_id: UUID, to: TaskStatus, why: str) -> NewEvent:
    payload = {"status": str(to)} | ({"why": why} if why else {})
    return NewEvent(type=types.TASK_STATUS, task_id=task_id, payload=payload)


def _refusal(task_id: UUID, to: TaskStatus) -> Exception:
    current = Task.objects.filter(id=task_id).values_list("status", flat=True).first()
    if current is None:
        return NotFound(f"task {task_id} does not exist")
    allowed = ", ".join(sorted(TASK_TRANSITIONS[TaskStatus(current)])) or "nothing"
    return InvalidTransition(
        f"a task that is {current} cannot become {to}; it can become {allowed}"
    )


def move_tasks(*, workspace: Workspace, task_ids: Iterable[UUID], to: TaskStatus, why: str) -> int:
    """As many as can move; the others stay as they are. Says how many moved."""
    with transaction.atomic():
        events = shift_tasks(task_ids=task_ids, to=to, why=why)
        record(workspace_id=workspace.id, events=events)
    return len(events)
