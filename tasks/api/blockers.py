"""/api/v2/blockers: the questions, and the answer that sends the task on."""

from uuid import UUID

from django.db.models import Count
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tasks.access import require_role
from tasks.api.base import ApiView, StrictSerializer, StrictText, read_input
from tasks.api.objects import blocker_object
from tasks.api.pages import page_of
from tasks.api.tasks import InvalidStatus
from tasks.blockers import answer_blocker, ask, resolve_blocker
from tasks.errors import NotFound, ValidationFailed
from tasks.models import Blocker, Task
from tasks.models.blocker import BlockerStatus

MAX_TEXT = 20_000
ORDER = ("created_at", "id")


class BlockersView(ApiView):
    class Input(StrictSerializer):
        question = StrictText(max_length=MAX_TEXT)
        task_id = serializers.UUIDField()

    def get(self, request: Request) -> Response:
        workspace = self.workspace()
        rows = Blocker.objects.filter(task__workspace=workspace).select_related("task")
        if task_id := request.GET.get("task_id"):
            rows = rows.filter(task_id=_uuid(task_id))
        by_status = dict(rows.order_by().values_list("status").annotate(Count("id")))
        if status := request.GET.get("status", "").upper():
            if status not in BlockerStatus.values:
                raise InvalidStatus(f"Invalid status: {status[:40]}")
            rows = rows.filter(status=status)
        found, cursor = page_of(rows, request, order=ORDER, default=100, maximum=1000)
        body = {
            "blockers": [blocker_object(blocker) for blocker in found],
            "total": sum(by_status.values()),
            "by_status": by_status,
            "next_cursor": cursor,
        }
        return Response(body)

    def post(self, request: Request) -> Response:
        workspace = self.workspace()
        given = read_input(self.Input, request.data)
        task = Task.objects.filter(id=given["task_id"], workspace=workspace).first()
        if task is None:
            raise NotFound("no such task")
        blocker = ask(task=task, question=given["question"], by=request.user.get_username())
        return Response(blocker_object(blocker), status=201)


class BlockerView(ApiView):
    def get(self, request: Request, blocker_id: UUID) -> Response:
        return Response(blocker_object(self.blocker(blocker_id)))

    def blocker(self, blocker_id: UUID) -> Blocker:
        rows = Blocker.objects.select_related("task__workspace")
        blocker = rows.filter(id=blocker_id, task__workspace__in=self.visible()).first()
        if blocker is None:
            raise NotFound("no such question")
        require_role(self.request.user, blocker.task.workspace, self.role())
        return blocker


class AnswerView(BlockerView):
    class Input(StrictSerializer):
        answer = StrictText(max_length=MAX_TEXT)

    http_method_names = ["post", "options"]

    def post(self, request: Request, blocker_id: UUID) -> Response:
        blocker = self.blocker(blocker_id)
        answer = read_input(self.Input, request.data)["answer"]
        answer_blocker(blocker=blocker, answer=answer, by=request.user.get_username())
        return Response(blocker_object(self.blocker(blocker_id)))


class ResolveView(BlockerView):
    http_method_names = ["post", "options"]

    def post(self, request: Request, blocker_id: UUID) -> Response:
        resolve_blocker(blocker=self.blocker(blocker_id))
        return Response(blocker_object(self.blocker(blocker_id)))


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValidationFailed(
            "task_id: is not an id", fields={"task_id": ["is not an id"]}
        ) from None
