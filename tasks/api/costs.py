"""/api/v2/costs: sums over what is recorded; one rule for the range everywhere."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from costs import reports
from costs.periods import Range
from tasks.api.base import ApiView
from tasks.api.cost_range import RANGE, asked_range
from tasks.api.cost_shapes import (
    AgentCostsShape,
    BatchCostsShape,
    CostSummaryShape,
    DayCostsShape,
    ModelCostsShape,
    TaskCostsShape,
)
from tasks.api.describe import WORKSPACE, counted, describe
from tasks.api.query import whole_number
from tasks.models import Task

MOST = 1000


class CostView(ApiView):
    def asked(self, request: Request) -> tuple[UUID, Range]:
        """The workspace and the days, which are those of its time zone."""
        workspace = self.workspace()
        return workspace.id, asked_range(request, workspace.time_zone)

    def grouped(
        self, request: Request, field: str, whose: tuple[UUID, Range], *, limit: int
    ) -> list[Any]:
        """The dearest first, `limit` of them unless the caller says how many."""
        wanted = whole_number(request, "limit", limit, least=1, most=MOST)
        return [in_dollars(row) for row in reports.by(field, *whose, limit=wanted)]


class CostSummaryView(CostView):
    @describe(
        "cost_summary",
        "What a workspace has cost, by day",
        returns=CostSummaryShape,
        query=[*WORKSPACE, *RANGE],
    )
    def get(self, request: Request) -> Response:
        return Response(in_dollars(reports.summary(*self.asked(request))))


class CostByTaskView(CostView):
    @describe(
        "costs_by_task",
        "The dearest tasks",
        returns=TaskCostsShape,
        query=[*WORKSPACE, *RANGE, counted("limit", "Tasks at most", 1, MOST, 10)],
    )
    def get(self, request: Request) -> Response:
        whose = self.asked(request)
        rows = self.grouped(request, "task_id", whose, limit=10)
        ids = [row["task_id"] for row in rows]
        titles = dict(Task.objects.filter(id__in=ids).values_list("id", "title"))
        agents = reports.busiest_agents(ids, whose[1])
        for row in rows:
            task_id = row["task_id"]
            row["task_title"] = titles.get(task_id, f"Unknown task ({task_id.hex[:8]})")
            row["agent_id"] = agents[task_id]
            row["task_id"] = str(task_id)
        return Response({"tasks": rows})


class CostByAgentView(CostView):
    @describe(
        "costs_by_agent",
        "What each agent has cost",
        returns=AgentCostsShape,
        query=[*WORKSPACE, *RANGE, counted("limit", "Agents at most", 1, MOST, MOST)],
    )
    def get(self, request: Request) -> Response:
        rows = self.grouped(request, "agent", self.asked(request), limit=MOST)
        for row in rows:
            row["agent_id"] = row.pop("agent")
        body = {
            "by_agent": rows,
            "total_input_tokens": sum(row["input_tokens"] for row in rows),
            "total_output_tokens": sum(row["output_tokens"] for row in rows),
        }
        return Response(body)


class CostByModelView(CostView):
    @describe(
        "costs_by_model",
        "What each model has cost",
        returns=ModelCostsShape,
        query=[*WORKSPACE, *RANGE, counted("limit", "Models at most", 1, MOST, MOST)],
    )
    def get(self, request: Request) -> Response:
        return Response(
            {"by_model": self.grouped(request, "model", self.asked(request), limit=MOST)}
        )


class CostByBatchView(CostView):
    @describe(
        "costs_by_batch",
        "The dearest batches",
        returns=BatchCostsShape,
        query=[*WORKSPACE, *RANGE, counted("limit", "Batches at most", 1, MOST, 100)],
    )
    def get(self, request: Request) -> Response:
        rows = self.grouped(request, "batch_id", self.asked(request), limit=100)
        return Response({"by_batch": [row | {"batch_id": str(row["batch_id"])} for row in rows]})


class CostByDayView(CostView):
    @describe(
        "costs_by_day",
        "What each day has cost, by agent",
        returns=DayCostsShape,
        query=[*WORKSPACE, *RANGE],
    )
    def get(self, request: Request) -> Response:
        rows = reports.by_day(*self.asked(request))
        for row in rows:
            row["date"], row["agent_id"] = row.pop("day").isoformat(), row.pop("agent")
        return Response({"by_day": in_dollars(rows)})


def in_dollars(value: Any) -> Any:
    """Dollars as JSON numbers, rounded to a millionth, so that sums carry no noise."""
    if isinstance(value, Decimal):
        return float(round(value, 6))
    if isinstance(value, dict):
        return {name: in_dollars(item) for name, item in value.items()}
    if isinstance(value, list):
        return [in_dollars(item) for item in value]
    return value
