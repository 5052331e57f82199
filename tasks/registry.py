"""Create, change and delete tasks and their dependencies; every change has its event."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction

from tasks.errors import Conflict, NotFound, ValidationFailed
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.models import Task, TaskDependency, Workspace
from tasks.models.task import TaskStatus
from tasks.planning.graph import find_cycle
from tasks.planning.importing import TaskDraft
from tasks.text import storable

UNFINISHED = (TaskStatus.BACKLOG, TaskStatus.READY, TaskStatus.FAILED)
"""Existing tasks that an import with `update` takes over; others are left alone and named."""


def known_names(workspace: Workspace) -> dict[str, UUID]:
    """Titles and keys of the workspace's tasks, for references out of a tasks file.

    Of several tasks with one title the newest is meant; a key goes before a title.
    """
    names: dict[str, UUID] = {}
    rows = Task.objects.filter(workspace=workspace).order_by("created_at", "id")
    for task_id, title, key in rows.values_list("id", "title", "key"):
        names[title] = task_id
        if key:
            names[key] = task_id
    for task_id, key in rows.exclude(key="").values_list("id", "key"):
        names[key] = task_id
    return names


def import_drafts(
    *,
    workspace: Workspace,
    drafts: Sequence[TaskDraft],
    status: TaskStatus = TaskStatus.BACKLOG,
    update: bool = False,
) -> list[Task]:
    """All or nothing; returns a task per draft, in order.

    A draft with the key or title of an unfinished task updates it when `update` is set, and is a
    Conflict otherwise. Finished tasks never stand in the way of a title, only of a key.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        existing = existing_tasks(workspace, drafts)
        if existing and not update:
            first = min(existing)
            raise Conflict(
                f"line {drafts[first].line}: the workspace has this task already "
                f"({existing[first].title!r}, {existing[first].status})"
            )
        tasks = [
            _apply(existing[index], draft)
            if index in existing
            else Task(workspace=workspace, **_columns(draft), **_status(draft, status))
            for index, draft in enumerate(drafts)
        ]
        _save(tasks, drafts, existing)
        _link(tasks, drafts, existing)
        events = [
            NewEvent(
                type=types.TASK_UPDATED if index in existing else types.TASK_CREATED,
                task_id=task.id,
                payload={"title": task.title, "status": task.status},
            )
            for index, task in enumerate(tasks)
        ]
        record(workspace_id=workspace.id, events=events)
    return tasks


def create_task(
    *,
    workspace: Workspace,
    draft: TaskDraft,
    depends_on: Sequence[UUID] = (),
    status: TaskStatus = TaskStatus.BACKLOG,
) -> Task:
    """Raises ValidationFailed naming each bad field, and Conflict for a key that is taken."""
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        task = Task(workspace=workspace, **_columns(draft), status=status)
        _validate(task)
        if task.key and Task.objects.filter(workspace=workspace, key=task.key).exists():
            raise Conflict(f"a task with the key {task.key!r} is there already")
        task.save(force_insert=True)
        payload = {"title": task.title, "status": task.status}
        event = NewEvent(type=types.TASK_CREATED, task_id=task.id, payload=payload)
        record(workspace_id=workspace.id, events=[event])
        if depends_on:
            set_dependencies(task=task, depends_on=depends_on)
    return task


def _validate(task: Task) -> None:
    try:
        task.full_clean(exclude=["workspace", "parent"])
    except ValidationError as error:
        name, sentences = next(iter(error.message_dict.items()))
        field = "" if name == "__all__" else f"{name}: "
        raise ValidationFailed(field + sentences[0], fields=error.message_dict) from error


def update_task(*, task: Task, changes: dict[str, Any]) -> Task:
    """Plain fields only; status and dependencies have verbs of their own.

    Raises ValidationFailed.
    """
    with transaction.atomic():
        for name, value in changes.items():
            text = "" if value is None and name == "uncertainty_level" else value
            setattr(task, name, storable(text) if isinstance(text, str) else text)
        _validate(task)
        task.save(update_fields=[*changes, "updated_at"])
        payload = {"fields": sorted(changes)}
        event = NewEvent(type=types.TASK_UPDATED, task_id=task.id, payload=payload)
        record(workspace_id=task.workspace_id, events=[event])
    return task


def set_dependencies(*, task: Task, depends_on: Sequence[UUID]) -> None:
    """Replaces the manual ones. Raises ValidationFailed for a cycle, NotFound for an unknown id.

    Under the workspace's lock: two requests that would make a cycle together are ordered.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=task.workspace_id)
        wanted = list(dict.fromkeys(depends_on))
        titles = dict(
            Task.objects.filter(workspace_id=task.workspace_id, id__in=wanted).values_list(
                "id", "title"
            )
        )
        missing = [str(task_id) for task_id in wanted if task_id not in titles]
        if missing:
            raise NotFound(f"no such task in this workspace: {', '.join(missing)}")
        task.dependency_edges.filter(origin=TaskDependency.Origin.MANUAL).delete()
        kept = set(task.dependency_edges.values_list("depends_on_id", flat=True))
        edges = [TaskDependency(task=task, depends_on_id=d) for d in wanted if d not in kept]
        _refuse_loops(edges)
        TaskDependency.objects.bulk_create(edges)
        _refuse_cycles(task.workspace_id)
        payload = {"depends_on": [str(task_id) for task_id in wanted]}
        event = NewEvent(type=types.TASK_UPDATED, task_id=task.id, payload=payload)
        record(workspace_id=task.workspace_id, events=[event])


def add_dependency(*, task: Task, on: UUID) -> None:
    """Raises ValidationFailed for a cycle, with its path, and NotFound."""
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=task.workspace_id)
        set_dependencies(task=task, depends_on=[*_manual(task), on])


def drop_dependency(*, task: Task, on: UUID) -> None:
    """Also one that a model has proposed. Raises NotFound."""
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=task.workspace_id)
        deleted, _ = task.dependency_edges.filter(depends_on_id=on).delete()
        if not deleted:
            raise NotFound("it does not depend on that task any more")
        payload = {"depends_on": [str(task_id) for task_id in _manual(task)]}
        event = NewEvent(type=types.TASK_UPDATED, task_id=task.id, payload=payload)
        record(workspace_id=task.workspace_id, events=[event])


def _manual(task: Task) -> list[UUID]:
    edges = task.dependency_edges.filter(origin=TaskDependency.Origin.MANUAL).order_by("id")
    return list(edges.values_list("depends_on_id", flat=True))


def remove_task(*, task: Task) -> None:
    """For batches.deletion, which knows whether a batch still needs it."""
    event = NewEvent(type=types.TASK_DELETED, task_id=task.id, payload={"title": task.title})
    task.delete()
    record(workspace_id=task.workspace_id, events=[event])


def existing_tasks(workspace: Workspace, drafts: Sequence[TaskDraft]) -> dict[int, Task]:
    """Of each draft, by its place, the task that it is about already."""
    rows = Task.objects.filter(workspace=workspace)
    by_key = {task.key: task for task in rows.exclude(key="")}
    by_title = {task.title: task for task in rows.filter(status__in=UNFINISHED)}
    found: dict[int, Task] = {}
    for index, draft in enumerate(drafts):
        task = by_key.get(draft.key) if draft.key else None
        task = task or by_title.get(draft.title)
        if task is not None:
            found[index] = task
    return found


def changed_columns(task: Task, draft: TaskDraft) -> list[str]:
    """What the draft would change of its task."""
    return [name for name, value in _columns(draft).items() if getattr(task, name) != value]


def _columns(draft: TaskDraft) -> dict[str, Any]:
    return {
        "key": draft.key or "",
        "title": storable(draft.title),
        "description": storable(draft.description),
        "priority": draft.priority,
        "estimated_hours": draft.estimated_hours,
        "complexity_score": draft.complexity_score,
        "uncertainty_level": draft.uncertainty_level or "",
        "requirement_ids": list(draft.requirement_ids),
        "github_issue_number": draft.github_issue_number,
        "external_url": draft.external_url,
        "expects_changes": draft.expects_changes,
    }


def _status(draft: TaskDraft, status: TaskStatus) -> dict[str, TaskStatus]:
    return {"status": TaskStatus.DONE if draft.done else status}


def _apply(task: Task, draft: TaskDraft) -> Task:
    for name, value in _columns(draft).items():
        setattr(task, name, value)
    return task


def _save(tasks: list[Task], drafts: Sequence[TaskDraft], existing: Mapping[int, Task]) -> None:
    Task.objects.bulk_create(t for i, t in enumerate(tasks) if i not in existing)
    for index, task in enumerate(tasks):
        parent = drafts[index].parent
        task.parent = tasks[parent] if parent is not None else None
    changed = [t for i, t in enumerate(tasks) if i in existing or t.parent_id]
    names = ["parent", *_columns(drafts[0])] if drafts else []
    if changed:
        Task.objects.bulk_update(changed, names, batch_size=200)


def _link(tasks: list[Task], drafts: Sequence[TaskDraft], existing: Mapping[int, Task]) -> None:
    manual = TaskDependency.Origin.MANUAL
    again = [tasks[index].id for index in existing]
    TaskDependency.objects.filter(task_id__in=again, origin=manual).delete()
    edges = [
        TaskDependency(task=tasks[index], depends_on_id=other)
        for index, draft in enumerate(drafts)
        for other in _dependencies(tasks, draft)
    ]
    _refuse_loops(edges)
    TaskDependency.objects.bulk_create(edges, ignore_conflicts=True)
    if tasks:
        _refuse_cycles(tasks[0].workspace_id)


def _dependencies(tasks: list[Task], draft: TaskDraft) -> list[UUID]:
    known = [UUID(str(other)) for other in draft.depends_on_known]
    return list(dict.fromkeys([tasks[index].id for index in draft.depends_on] + known))


def _refuse_loops(edges: Sequence[TaskDependency]) -> None:
    """Said before the database refuses the row."""
    for edge in edges:
        if edge.task_id == edge.depends_on_id:
            raise ValidationFailed(f"{edge.task.title} would depend on itself")


def _refuse_cycles(workspace_id: UUID) -> None:
    edges: dict[UUID, list[UUID]] = {}
    pairs = TaskDependency.objects.filter(task__workspace_id=workspace_id).values_list(
        "task_id", "depends_on_id"
    )
    for task_id, other in pairs:
        edges.setdefault(task_id, []).append(other)
    cycle = find_cycle(edges)
    if cycle:
        titles = dict(Task.objects.filter(id__in=cycle).values_list("id", "title"))
        path = " -> ".join(titles[task_id] for task_id in cycle)
        raise ValidationFailed(f"dependencies would form a cycle: {path}")
