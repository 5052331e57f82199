"""/api/v2/blockers: the questions. (Answering sends the task on: batches/api/blockers.py.)"""

from uuid import UUID

from django.db.models import Count
from rest_framework.request import Request
from rest_framework.response import Response

from tasks.api.base import ApiView, RowId
from tasks.api.describe import WORKSPACE, asked, describe, one_of, paged
from tasks.api.fields import StrictId, StrictSerializer, StrictText, read_input
from tasks.api.objects import blocker_object
from tasks.api.pages import page_of
from tasks.api.query import row_id, statuses
from tasks.api.shapes import BlockerListShape, BlockerShape
from tasks.blockers import ask, resolve_blocker
from tasks.errors import InvalidTransition, NotFound
from tasks.models import Blocker, Task
from tasks.models.blocker import BlockerStatus

MAX_TEXT = 20_000
ORDERS = {"created": ("created_at", "id"), "-created": ("-created_at", "id")}


class BlockersView(ApiView):
    class Input(StrictSerializer):
        question = StrictText(max_length=MAX_TEXT)
        task_id = StrictId()

    @describe(
        "list_blockers",
        "Questions, the oldest first",
        returns=BlockerListShape,
        errors=(400,),
        query=[
            *WORKSPACE,
            one_of("status", "Only with this status", BlockerStatus.values),
            asked("task_id", "Only of this task", UUID),
            *paged(ORDERS, default=100, maximum=1000),
        ],
    )
    def get(self, request: Request) -> Response:
        rows = Blocker.objects.filter(task__workspace=self.workspace()).select_related("task")
        if task_id := row_id(request, "task_id"):
            rows = rows.filter(task_id=task_id)
        by_status = dict(rows.order_by().values_list("status").annotate(Count("id")))
        total = sum(by_status.values())
        if wanted := statuses(request, BlockerStatus.values):
            rows = rows.filter(status__in=wanted)
            total = sum(by_status.get(status, 0) for status in set(wanted))
        found, cursor = page_of(rows, request, orders=ORDERS, default=100, maximum=1000)
        body = {
            "blockers": [blocker_object(blocker) for blocker in found],
            "total": total,
            "by_status": by_status,
            "next_cursor": cursor,
        }
        return Response(body)

    @describe(
        "create_blocker",
        "Ask a question about a task; the same open one is asked once",
        returns=BlockerShape,
        status=201,
        takes=Input,
        query=WORKSPACE,
        example={"task_id": "9c1e4b2f-0000-4000-8000-000000000000", "question": "Which colour?"},
    )
    def post(self, request: Request) -> Response:
        workspace = self.workspace()
        given = read_input(self.Input, request.data)
        task = Task.objects.filter(id=given["task_id"], workspace=workspace).first()
        if task is None:
            raise NotFound("no such task")
        blocker = ask(task=task, question=given["question"], by=request.user.get_username())
        return Response(blocker_object(blocker), status=201)


class BlockerView(ApiView):
    @describe("read_blocker", "One question", returns=BlockerShape)
    def get(self, request: Request, blocker_id: RowId) -> Response:
        return Response(blocker_object(self.blocker(blocker_id)))

    def blocker(self, blocker_id: RowId) -> Blocker:
        rows = Blocker.objects.select_related("task__workspace")
        return self.visible_row(rows, blocker_id, noun="question", through="task__workspace")


class ResolveView(BlockerView):
    http_method_names = ["post", "options"]

    @describe(
        "resolve_blocker", "Put an answered question away", returns=BlockerShape, errors=(400,)
    )
    def post(self, request: Request, blocker_id: RowId) -> Response:
        try:
            resolve_blocker(blocker=self.blocker(blocker_id))
        except InvalidTransition as error:
            error.title = "Cannot resolve"
            raise
        return Response(blocker_object(self.blocker(blocker_id)))
