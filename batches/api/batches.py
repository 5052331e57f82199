"""/api/v2/batches: history, one batch, and the verbs that steer it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.api.serializers import batch_object
from batches.api.shapes import BatchListShape, WholeBatchShape
from batches.api.waiting import answer_when
from batches.caps import change_caps
from batches.models import Batch, Run
from batches.models.batch import ACTIVE, BatchStatus, StopMode
from batches.money import Money
from batches.options import MAX_BUDGET
from batches.resuming import resume
from costs import reports
from tasks.api.base import ApiView
from tasks.api.describe import WORKSPACE, asked, describe, one_of, paged
from tasks.api.fields import (
    StrictBoolean,
    StrictDecimal,
    StrictSerializer,
    StrictText,
    id_list,
    read_input,
)
from tasks.api.pages import page_of
from tasks.api.query import moment, statuses
from tasks.errors import DomainError

ORDERS = {"-created": ("-created_at", "id"), "created": ("created_at", "id")}


class BatchesView(ApiView):
    @describe(
        "list_batches",
        "A workspace's batches, the newest first",
        returns=BatchListShape,
        errors=(400,),
        query=[
            *WORKSPACE,
            one_of("status", "Only with this status", BatchStatus.values),
            asked("engine", "Only with this engine"),
            asked("created_after", "Only those made after this time"),
            *paged(ORDERS, default=20, maximum=100),
        ],
    )
    def get(self, request: Request) -> Response:
        rows = Batch.objects.filter(workspace=self.workspace()).select_related("workspace")
        rows = _filtered(rows, request)
        by_status = dict(rows.order_by().values_list("status").annotate(Count("id")))
        total = sum(by_status.values())
        if wanted := statuses(request, BatchStatus.values):
            rows = rows.filter(status__in=wanted)
            total = sum(by_status.get(status, 0) for status in set(wanted))
        found, cursor = page_of(rows, request, orders=ORDERS, default=20, maximum=100)
        money = Money(found)
        body = {
            "batches": [batch_object(batch, money=money) for batch in found],
            "total": total,
            "by_status": by_status,
            "next_cursor": cursor,
        }
        return Response(body)


class BatchView(ApiView):
    @describe("read_batch", "One batch, with a result for each task", returns=WholeBatchShape)
    def get(self, request: Request, batch_id: UUID) -> Response:
        return Response(full_batch(self.batch(batch_id)))

    def batch(self, batch_id: UUID) -> Batch:
        rows = Batch.objects.select_related("workspace")
        return self.visible_row(rows, batch_id, noun="batch")


class SteerView(BatchView):
    """One class per verb; POST only."""

    http_method_names = ["post", "options"]

    def answer(self, request: Request, batch: Batch) -> Response:
        """200 when it came to rest within `Prefer: wait=N`, else 202; both with the batch."""
        return answer_when(
            request,
            rested=lambda: not Batch.objects.filter(id=batch.id, status__in=ACTIVE).exists(),
            body=lambda: full_batch(self.batch(batch.id)),
            location=f"/api/v2/batches/{batch.id}",
        )


class StopView(SteerView):
    class Input(StrictSerializer):
        force = StrictBoolean(default=False, help_text="End what runs, instead of letting it end")
        reason = StrictText(max_length=1000, default="", allow_blank=True)

    @describe(
        "stop_batch",
        "Start nothing more; what runs may end",
        returns=WholeBatchShape,
        takes=Input,
        waits=True,
        example={"force": False},
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        given = read_input(self.Input, request.data)
        mode = StopMode.CANCEL if given["force"] else StopMode.STOP
        with titled("Cannot stop batch"):
            lifecycle.cancel_batch(batch_id=batch.id, mode=mode, reason=given["reason"])
        return self.answer(request, batch)


class CancelView(SteerView):
    class Input(StrictSerializer):
        reason = StrictText(max_length=1000, default="", allow_blank=True)

    @describe(
        "cancel_batch",
        "End it and every agent of it",
        returns=WholeBatchShape,
        takes=Input,
        waits=True,
        example={"reason": "wrong branch"},
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        reason = read_input(self.Input, request.data)["reason"]
        with titled("Cannot cancel batch"):
            lifecycle.cancel_batch(batch_id=batch.id, reason=reason)
        return self.answer(request, batch)


class ResumeView(SteerView):
    class Input(StrictSerializer):
        force = StrictBoolean(default=False, help_text="Everything again, also what completed")
        budget = StrictDecimal(
            required=False, max_value=MAX_BUDGET, help_text="In dollars, instead of the one it had"
        )

    @describe(
        "resume_batch",
        "Go on with what did not complete, with the settings it had",
        returns=WholeBatchShape,
        takes=Input,
        waits=True,
        errors=(409,),
        example={"force": False},
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        given = read_input(self.Input, request.data)
        caps = {"budget": given["budget"]} if "budget" in given else None
        with titled("Cannot resume batch"):
            by = request.user.get_username()
            resume(batch=batch, force=given["force"], caps=caps, by=by)
        return self.answer(request, batch)


class BudgetView(BatchView):
    """PATCH only: what is left out stays."""

    http_method_names = ["patch", "options"]

    class Input(StrictSerializer):
        budget = StrictDecimal(required=False, allow_null=True, max_value=MAX_BUDGET)
        soft_budget = StrictDecimal(required=False, allow_null=True, max_value=MAX_BUDGET)
        task_budget = StrictDecimal(required=False, allow_null=True, max_value=MAX_BUDGET)

    @describe(
        "change_batch_budget",
        "Raise, lower or take away its caps, at any time",
        returns=WholeBatchShape,
        takes=Input,
        example={"budget": 10},
    )
    def patch(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        given = read_input(self.Input, request.data)
        change_caps(batch.id, given, by=request.user.get_username())
        return Response(full_batch(self.batch(batch.id)))


class RetryView(SteerView):
    class Input(StrictSerializer):
        task_ids = id_list(required=True, min_length=1)

    @describe(
        "retry_batch",
        "Do some of its tasks again",
        returns=WholeBatchShape,
        takes=Input,
        waits=True,
        errors=(409,),
        example={"task_ids": ["9c1e4b2f-0000-4000-8000-000000000000"]},
    )
    def post(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        only = read_input(self.Input, request.data)["task_ids"]
        with titled("Cannot retry"):
            resume(batch=batch, only=only, by=request.user.get_username())
        return self.answer(request, batch)


@contextmanager
def titled(title: str) -> Iterator[None]:
    """Gives the refusal of a verb the short title that names the verb."""
    try:
        yield
    except DomainError as error:
        if error.code == "INVALID_STATE":
            error.title = title
        raise


def full_batch(batch: Batch) -> dict[str, Any]:
    costs = reports.cost_of_runs([batch.id])
    return batch_object(batch, last_runs(batch), costs, money=Money([batch]))


def last_runs(batch: Batch) -> QuerySet[Run]:
    rows = Run.objects.filter(batch=batch, superseded=False)
    return rows.defer("agent_state").order_by("position")


def _filtered(rows: QuerySet[Batch], request: Request) -> QuerySet[Batch]:
    if engine := request.GET.get("engine"):
        rows = rows.filter(engine=engine)
    if after := moment(request, "created_after"):
        rows = rows.filter(created_at__gt=after)
    return rows
