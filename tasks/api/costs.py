"""/api/v2/costs: sums over what is recorded; one rule for the range everywhere."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from costs import ledger
from tasks.api.base import ApiView
from tasks.api.pages import read_limit
from tasks.errors import ValidationFailed
from tasks.models import Task

MAX_DAYS = 365


class CostView(ApiView):
    def days(self, request: Request) -> int:
        text = request.GET.get("days", "30")
        if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MAX_DAYS):
            message = f"must be a whole number from 1 to {MAX_DAYS}"
            raise ValidationFailed(f"days: {message}", fields={"days": [message]})
        return int(text)

    def grouped(self, request: Request, field: str, limit: int | None = None) -> list[Any]:
        rows = ledger.by(
            field, self.workspace().id, self.days(request), today=_today(), limit=limit
        )
        return [_plain(row) for row in rows]


class CostSummaryView(CostView):
    def get(self, request: Request) -> Response:
        days = self.days(request)
        return Response(_plain(ledger.summary(self.workspace().id, days, today=_today())))


class CostByTaskView(CostView):
    def get(self, request: Request) -> Response:
        rows = self.grouped(request, "task_id", read_limit(request, default=10, maximum=1000))
        ids = [row["task_id"] for row in rows]
        titles = dict(Task.objects.filter(id__in=ids).values_list("id", "title"))
        for row in rows:
            task_id = row["task_id"]
            row["task_title"] = titles.get(task_id, f"Unknown task ({task_id.hex[:8]})")
            row["task_id"] = str(task_id)
        return Response({"tasks": rows})


class CostByAgentView(CostView):
    def get(self, request: Request) -> Response:
        rows = self.grouped(request, "agent")
        for row in rows:
            row["agent_id"] = row.pop("agent")
        body = {
            "by_agent": rows,
            "total_input_tokens": sum(row["input_tokens"] for row in rows),
            "total_output_tokens": sum(row["output_tokens"] for row in rows),
        }
        return Response(body)


class CostByModelView(CostView):
    def get(self, request: Request) -> Response:
        return Response({"by_model": self.grouped(request, "model")})


class CostByBatchView(CostView):
    def get(self, request: Request) -> Response:
        rows = self.grouped(request, "batch_id")
        return Response({"by_batch": [row | {"batch_id": str(row["batch_id"])} for row in rows]})


def _today() -> Any:
    return datetime.now(UTC).date()


def _plain(value: Any) -> Any:
    """Dollars as JSON numbers, rounded to a millionth, so that sums carry no noise."""
    if isinstance(value, Decimal):
        return float(round(value, 6))
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
