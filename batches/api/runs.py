"""/api/v2/runs: one attempt, its stages, gates and findings; and histories of attempts."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.api.batches import BatchView, titled
from batches.api.serializers import run_object
from batches.api.shapes import RunListShape, RunShape, WholeRunShape
from batches.api.waiting import answer_when
from batches.models import Run
from batches.models.run import LIVE, RunStatus
from costs.models import SpendScope
from costs.reports import known_costs
from tasks.api.base import ApiView, RowId
from tasks.api.describe import describe, one_of, paged
from tasks.api.pages import page_of
from tasks.api.query import statuses
from tasks.api.tasks import TaskView

ORDERS = {"-created": ("-created_at", "id"), "created": ("created_at", "id")}
QUERY = [
    one_of("status", "Only with this status", RunStatus.values),
    *paged(ORDERS, default=20, maximum=100),
]


class RunBase(ApiView):
    def run_row(self, run_id: UUID) -> Run:
        rows = Run.objects.select_related("batch__workspace")
        return self.visible_row(rows, run_id, noun="run", through="batch__workspace")

    def told(self, run_id: UUID) -> dict[str, Any]:
        run = self.run_row(run_id)
        return run_object(run, known_costs(SpendScope.RUN, [run.id]))


class RunView(RunBase):
    @describe("read_run", "One attempt, with its stages, gates and findings", returns=WholeRunShape)
    def get(self, request: Request, run_id: UUID) -> Response:
        run = self.run_row(run_id)
        body = run_object(run, known_costs(SpendScope.RUN, [run.id])) | {
            "stages": [_stage(stage) for stage in run.stages.order_by("id")],
            "gates": [_gate(gate) for gate in run.gate_records.order_by("id")],
            "findings": [_finding(finding) for finding in run.findings.order_by("id")],
        }
        return Response(body)


class RunStopView(RunBase):
    http_method_names = ["post", "options"]

    @describe(
        "stop_run",
        "End this run's agent; its batch goes on",
        returns=RunShape,
        waits=True,
        errors=(400,),
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        run = self.run_row(run_id)
        with titled("Cannot stop"):
            lifecycle.stop_run(run=run, by=request.user.get_username())
        return answer_when(
            request,
            rested=lambda: not Run.objects.filter(id=run.id, status__in=LIVE).exists(),
            body=lambda: self.told(run_id),
            location=f"/api/v2/runs/{run_id}",
        )


class TaskRunsView(TaskView):
    http_method_names = ["get", "head", "options"]

    @describe(
        "list_task_runs",
        "A task's attempts, the newest first",
        returns=RunListShape,
        errors=(400,),
        query=QUERY,
    )
    def get(self, request: Request, task_id: RowId) -> Response:
        return listed(Run.objects.filter(task=self.task(task_id)).defer("agent_state"), request)


class BatchRunsView(BatchView):
    http_method_names = ["get", "head", "options"]

    @describe(
        "list_batch_runs",
        "Every attempt of a batch, also those that a later one replaced",
        returns=RunListShape,
        errors=(400,),
        query=QUERY,
    )
    def get(self, request: Request, batch_id: UUID) -> Response:
        return listed(Run.objects.filter(batch=self.batch(batch_id)).defer("agent_state"), request)


def listed(rows: QuerySet[Run], request: Request) -> Response:
    if wanted := statuses(request, RunStatus.values):
        rows = rows.filter(status__in=wanted)
    found, cursor = page_of(rows, request, orders=ORDERS, default=20, maximum=100)
    costs = known_costs(SpendScope.RUN, [run.id for run in found])
    return Response({"runs": [run_object(run, costs) for run in found], "next_cursor": cursor})


def _stage(stage: Any) -> dict[str, Any]:
    return {
        "name": stage.name,
        "outcome": stage.outcome,
        "detail": stage.detail,
        "deadline_s": stage.deadline_s,
        "commands": stage.commands,
        "started_at": stage.started_at.isoformat(),
        "ended_at": stage.ended_at.isoformat() if stage.ended_at else None,
    }


def _gate(gate: Any) -> dict[str, Any]:
    return {
        "name": gate.name,
        "outcome": gate.outcome,
        "exit_code": gate.exit_code,
        "duration_s": gate.duration_s,
        "summary": gate.summary,
        "findings": gate.findings,
        "output_tail": gate.output_tail,
    }


def _finding(finding: Any) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "path": finding.path,
        "message": finding.message,
    }
