"""/api/v2/tasks: list, create, read, change. (Deleting asks the batches: batches/api/tasks.py.)"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tasks.api.base import ApiView, RowId
from tasks.api.describe import WORKSPACE, asked, describe, one_of, paged
from tasks.api.fields import (
    MAX_INT,
    StrictBoolean,
    StrictInteger,
    StrictNumber,
    StrictSerializer,
    StrictText,
    id_list,
    read_input,
)
from tasks.api.objects import TASK_COLUMNS, task_object, task_objects
from tasks.api.pages import page_of
from tasks.api.query import known_status, row_id, statuses, yes_or_no
from tasks.api.shapes import TaskListShape, TaskShape
from tasks.errors import Conflict, InvalidTransition, ValidationFailed
from tasks.lifecycle import move_task
from tasks.models import Task, Workspace
from tasks.models.task import (
    MAX_DESCRIPTION,
    MAX_TITLE,
    TASK_TRANSITIONS,
    TaskStatus,
    Uncertainty,
)
from tasks.planning.importing import TaskDraft
from tasks.registry import create_task, set_dependencies, update_task

ORDERS = {
    "priority": ("priority", "created_at", "id"),
    "created": ("created_at", "id"),
    "-created": ("-created_at", "id"),
    "updated": ("updated_at", "id"),
    "-updated": ("-updated_at", "id"),
    "title": ("title", "id"),
}
MAX_SEARCH = 200
Rows = QuerySet[Task, dict[str, Any]]
ROWS: Rows = Task.objects.values(*TASK_COLUMNS)
"""Made once: to name the columns anew for each request takes as long as the query."""


class TaskFields(StrictSerializer):
    title = StrictText(max_length=MAX_TITLE, required=False)
    description = StrictText(
        max_length=MAX_DESCRIPTION, required=False, allow_blank=True, trim_whitespace=False
    )
    priority = StrictInteger(min_value=0, max_value=MAX_INT, required=False)
    depends_on = id_list(max_length=1000)
    estimated_hours = StrictNumber(min_value=0, max_value=100_000, required=False, allow_null=True)
    complexity_score = StrictInteger(min_value=1, max_value=5, required=False, allow_null=True)
    uncertainty_level = serializers.ChoiceField(
        choices=Uncertainty.values, required=False, allow_null=True
    )
    expects_changes = StrictBoolean(required=False)
    auto_close_github_issue = StrictBoolean(required=False)
    status = StrictText(max_length=20, required=False)


class TasksView(ApiView):
    class Input(TaskFields):
        title = StrictText(max_length=MAX_TITLE)
        key = StrictText(max_length=200, required=False, allow_blank=True)

    @describe(
        "list_tasks",
        "A workspace's tasks",
        returns=TaskListShape,
        errors=(400,),
        query=[
            *WORKSPACE,
            one_of("status", "Only with this status", TaskStatus.values),
            asked("q", "Only with these letters in the title"),
            asked("parent", "Only the parts of this task", UUID),
            asked("leaf", "true: only what can run; false: only what has parts", bool),
            *paged(ORDERS, default=100, maximum=1000),
        ],
    )
    def get(self, request: Request) -> Response:
        rows = filtered(ROWS.filter(workspace_id=self.workspace().id), request)
        by_status = dict(rows.order_by().values_list("status").annotate(Count("id")))
        total = sum(by_status.values())
        if wanted := statuses(request, TaskStatus.values):
            rows = rows.filter(status__in=wanted)
            total = sum(by_status.get(status, 0) for status in set(wanted))
        found, cursor = page_of(
            rows,
            request,
            orders=ORDERS,
            default=100,
            maximum=1000,
        )
        body = {
            "tasks": task_objects(found),
            "total": total,
            "by_status": by_status,
            "next_cursor": cursor,
        }
        return Response(body)

    @describe(
        "create_task",
        "Add a task",
        returns=TaskShape,
        status=201,
        takes=Input,
        query=WORKSPACE,
        errors=(409,),
        example={"title": "Add login", "description": "…", "priority": 1, "estimated_hours": 2.5},
    )
    def post(self, request: Request) -> Response:
        workspace = self.workspace()
        given = read_input(self.Input, request.data)
        status = read_status(given.pop("status", TaskStatus.BACKLOG))
        if status not in (TaskStatus.BACKLOG, TaskStatus.READY):
            raise ValidationFailed("status: a new task is BACKLOG or READY")
        closes = given.pop("auto_close_github_issue", False)
        with transaction.atomic():
            task = create_task(
                workspace=workspace,
                depends_on=given.pop("depends_on", ()),
                draft=TaskDraft(line=0, **given),
                status=status,
            )
            if closes:
                update_task(task=task, changes={"auto_close_github_issue": True})
        body = task_object(one_task(task.id))
        return Response(body, status=201, headers={"Location": f"/api/v2/tasks/{task.id}"})


class TaskView(ApiView):
    @describe("read_task", "One task", returns=TaskShape)
    def get(self, request: Request, task_id: RowId) -> Response:
        return Response(task_object(self.task(task_id)))

    @describe(
        "change_task",
        "Change a task: all of it or nothing; the status moves last",
        returns=TaskShape,
        takes=TaskFields,
        errors=(409,),
        example={"title": "Add SSO login", "priority": 1, "status": "ready"},
    )
    def patch(self, request: Request, task_id: RowId) -> Response:
        task = self.task(task_id)
        given = read_input(TaskFields, request.data)
        status = read_status(given.pop("status")) if "status" in given else None
        depends_on = given.pop("depends_on", None)
        with transaction.atomic():
            # Locks in their order; a task that was deleted since is gone, and says so.
            if depends_on is not None:
                Workspace.objects.select_for_update(no_key=True).get(id=task.workspace_id)
            Task.objects.select_for_update(no_key=True).get(id=task.id)
            if depends_on is not None:
                set_dependencies(task=task, depends_on=depends_on)
            if given:
                update_task(task=task, changes=given)
            if status is not None:
                move_by_hand(task, status)
        return Response(task_object(one_task(task.id)))

    def task(self, task_id: RowId) -> Task:
        return self.visible_row(Task.objects.select_related("workspace"), task_id, noun="task")


def move_by_hand(task: Task, status: TaskStatus) -> None:
    """`task` as it was read. Raises InvalidTransition, or Conflict when it moved since."""
    seen = TaskStatus(task.status)
    try:
        move_task(task=task, to=status, why="set by hand")
    except InvalidTransition as error:
        if status in TASK_TRANSITIONS[seen]:
            raise Conflict(f"it was {seen} when this began: {error.message}") from error
        error.title = "Invalid status transition"
        raise


def filtered(rows: Rows, request: Request) -> Rows:
    if words := request.GET.get("q", ""):
        rows = rows.filter(title__icontains=words[:MAX_SEARCH])
    if parent := row_id(request, "parent"):
        rows = rows.filter(parent_id=parent)
    leaf = yes_or_no(request, "leaf")
    return rows if leaf is None else rows.filter(is_leaf=leaf)


def one_task(task_id: UUID) -> Task:
    return Task.objects.get(id=task_id)


def read_status(text: str) -> TaskStatus:
    """Raises InvalidStatus."""
    return TaskStatus(known_status(text, TaskStatus.values))
