"""/api/v2/tasks: list, create, read, change. (Deleting asks the batches: batches/api/tasks.py.)"""

from uuid import UUID

from django.db import transaction
from django.db.models import Count, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tasks.api.base import (
    MAX_INT,
    ApiView,
    StrictBoolean,
    StrictInteger,
    StrictSerializer,
    StrictText,
    read_input,
)
from tasks.api.objects import task_object
from tasks.api.pages import page_of
from tasks.errors import DomainError, ValidationFailed
from tasks.lifecycle import move_task
from tasks.models import Task
from tasks.models.task import MAX_DESCRIPTION, MAX_TITLE, TaskStatus, Uncertainty
from tasks.planning.importing import TaskDraft
from tasks.registry import create_task, set_dependencies, update_task

ORDER = ("priority", "created_at", "id")


class TaskFields(StrictSerializer):
    title = StrictText(max_length=MAX_TITLE, required=False)
    description = StrictText(
        max_length=MAX_DESCRIPTION, required=False, allow_blank=True, trim_whitespace=False
    )
    priority = StrictInteger(min_value=0, max_value=MAX_INT, required=False)
    depends_on = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=1000
    )
    estimated_hours = serializers.FloatField(
        min_value=0, max_value=100_000, required=False, allow_null=True
    )
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

    def get(self, request: Request) -> Response:
        workspace = self.workspace()
        rows = tasks_of(workspace.id)
        by_status = dict(rows.order_by().values_list("status").annotate(Count("id")))
        total = sum(by_status.values())
        if wanted := request.GET.get("status"):
            status = read_status(wanted)
            rows, total = rows.filter(status=status), by_status.get(status, 0)
        found, cursor = page_of(
            rows.prefetch_related("dependency_edges"),
            request,
            order=ORDER,
            default=100,
            maximum=1000,
        )
        body = {
            "tasks": [task_object(task) for task in found],
            "total": total,
            "by_status": by_status,
            "next_cursor": cursor,
        }
        return Response(body)

    def post(self, request: Request) -> Response:
        workspace = self.workspace()
        given = read_input(self.Input, request.data)
        status = read_status(given.pop("status", TaskStatus.BACKLOG))
        if status not in (TaskStatus.BACKLOG, TaskStatus.READY):
            raise ValidationFailed("status: a new task is BACKLOG or READY")
        closes = given.pop("auto_close_github_issue", False)
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
    def get(self, request: Request, task_id: UUID) -> Response:
        return Response(task_object(self.task(task_id)))

    def patch(self, request: Request, task_id: UUID) -> Response:
        """All of it or nothing; the status moves last."""
        task = self.task(task_id)
        given = read_input(TaskFields, request.data)
        status = read_status(given.pop("status")) if "status" in given else None
        with transaction.atomic():
            depends_on = given.pop("depends_on", None)
            if depends_on is not None:
                set_dependencies(task=task, depends_on=depends_on)
            if given:
                update_task(task=task, changes=given)
            if status is not None:
                move_task(task=task, to=status, why="set by hand")
        return Response(task_object(one_task(task.id)))

    def task(self, task_id: UUID) -> Task:
        return self.visible_row(
            Task.objects.select_related("workspace").prefetch_related("dependency_edges"),
            task_id,
            noun="task",
        )


def tasks_of(workspace_id: UUID) -> QuerySet[Task]:
    return Task.objects.filter(workspace_id=workspace_id)


def one_task(task_id: UUID) -> Task:
    return Task.objects.prefetch_related("dependency_edges").get(id=task_id)


def read_status(text: str) -> TaskStatus:
    """Any case, dashes for underscores."""
    name = text.upper().replace("-", "_")
    if name not in TaskStatus.values:
        raise InvalidStatus(f"Invalid status: {text[:40]}")
    return TaskStatus(name)


class InvalidStatus(DomainError):
    """400, as programs that drove the older API expect it."""

    code = "VALIDATION_ERROR"
    status = 400
