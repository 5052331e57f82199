"""/api/v2/batches: history, one batch, and the verbs that steer it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.api.serializers import batch_object
from batches.api.waiting import answer_when
from batches.models import Batch, Run
from batches.models.batch import ACTIVE, BatchStatus, StopMode
from batches.resuming import resume
from tasks.api.base import ApiView, StrictBoolean, StrictSerializer, StrictText, read_input
from tasks.api.pages import page_of
from tasks.api.tasks import InvalidStatus
from tasks.errors import DomainError

ORDER = ("-created_at", "id")


class BatchesView(ApiView):
    def get(self, request: Request) -> Response:
        rows = Batch.objects.filter(workspace=self.workspace()).select_related("workspace")
        by_status = dict(rows.order_by().values_list("status").annotate(Count("id")))
        total = sum(by_status.values())
        if status := request.GET.get("status", "").upper():
            if status not in BatchStatus.values:
                raise InvalidStatus(f"Invalid status: {status[:40]}")
            rows, total = rows.filter(status=status), by_status.get(status, 0)
        found, cursor = page_of(rows, request, order=ORDER, default=20, maximum=100)
        body = {
            "batches": [batch_object(batch) for batch in found],
            "total": total,
            "by_status": by_status,
            "next_cursor": cursor,
        }
        return Response(body)


class BatchView(ApiView):
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
        force = StrictBoolean(default=False)
        reason = StrictText(max_length=1000, default="", allow_blank=True)

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

    def post(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        reason = read_input(self.Input, request.data)["reason"]
        with titled("Cannot cancel batch"):
            lifecycle.cancel_batch(batch_id=batch.id, reason=reason)
        return self.answer(request, batch)


class ResumeView(SteerView):
    class Input(StrictSerializer):
        force = StrictBoolean(default=False)

    def post(self, request: Request, batch_id: UUID) -> Response:
        batch = self.batch(batch_id)
        force = read_input(self.Input, request.data)["force"]
        with titled("Cannot resume batch"):
            resume(batch=batch, force=force, by=request.user.get_username())
        return self.answer(request, batch)


class RetryView(SteerView):
    class Input(StrictSerializer):
        task_ids = serializers.ListField(
            child=serializers.UUIDField(), min_length=1, max_length=10_000
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
    return batch_object(batch, last_runs(batch))


def last_runs(batch: Batch) -> QuerySet[Run]:
    return Run.objects.filter(batch=batch, superseded=False).order_by("position")
