"""/api/v2/schedule: what is left, when it would be done, and what holds it up."""

from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from batches.models import Run
from batches.models.run import RunStatus
from batches.plan import dependency_edges
from tasks.api.base import ApiView
from tasks.errors import ValidationFailed
from tasks.models import Task, Workspace
from tasks.models.task import FINISHED
from tasks.planning.schedule import DEFAULT_HOURS, Forecast, forecast

LEARNED_FROM = 30
"""So many of the last completed runs tell how long a task without an estimate takes."""
MAX_AGENTS = 64


class ScheduleView(ApiView):
    def get(self, request: Request) -> Response:
        agents = _number(request, "agents", 1, MAX_AGENTS)
        tasks, plan, learned = plan_of(self.workspace(), agents)
        body = {
            "task_assignments": [
                {
                    "task_id": str(slot.task),
                    "title": tasks[slot.task].title,
                    "start_time": round(slot.start, 4),
                    "end_time": round(slot.end, 4),
                    "assigned_agent": slot.agent,
                }
                for slot in plan.slots
            ],
            "total_duration": round(plan.total_hours, 4),
            "agents_used": len({slot.agent for slot in plan.slots}),
            "critical_path": [str(task_id) for task_id in plan.critical_path],
            "default_hours": round(learned, 4),
        }
        return Response(body)


class PredictView(ApiView):
    def get(self, request: Request) -> Response:
        agents = _number(request, "agents", 1, MAX_AGENTS)
        hours_per_day = _number(request, "hours_per_day", 8, 24)
        workspace = self.workspace()
        tasks, plan, _ = plan_of(workspace, agents)
        total = Task.objects.filter(workspace=workspace, is_leaf=True).count()
        done = total - len(tasks)
        days = plan.total_hours / hours_per_day
        body = {
            "predicted_date": _day(days),
            "remaining_hours": round(plan.total_hours, 4),
            "completed_percentage": round(100 * done / total, 1) if total else 100.0,
            "confidence_interval": {"early": _day(days * 0.8), "late": _day(days * 1.5)},
        }
        return Response(body)


class BottlenecksView(ApiView):
    def get(self, request: Request) -> Response:
        """Tasks of the critical path, those with the most work behind them first."""
        tasks, plan, learned = plan_of(self.workspace(), 1)
        edges = dependency_edges(tasks)
        rows = [
            {
                "task_id": str(task_id),
                "task_title": tasks[task_id].title,
                "bottleneck_type": "dependencies" if edges.get(task_id) else "duration",
                "impact_hours": round(tasks[task_id].estimated_hours or learned, 4),
                "recommendation": "It lies on the longest chain: split it, or free it of what it "
                "waits for.",
            }
            for task_id in plan.critical_path
        ]
        return Response(sorted(rows, key=lambda row: -row["impact_hours"]))


def plan_of(workspace: Workspace, agents: int) -> tuple[dict[UUID, Task], Forecast[UUID], float]:
    """Open leaves, their forecast, and the hours assumed where nobody estimated."""
    rows = Task.objects.filter(workspace=workspace, is_leaf=True).exclude(status__in=FINISHED)
    tasks = {task.id: task for task in rows}
    edges = dependency_edges(tasks)
    learned = typical_hours(workspace)
    hours = {task.id: task.estimated_hours or learned for task in tasks.values()}
    graph = {task_id: edges.get(task_id, []) for task_id in tasks}
    return tasks, forecast(graph, hours, agents=agents), learned


def typical_hours(workspace: Workspace) -> float:
    """Median of what completed runs here really took."""
    rows = Run.objects.filter(
        batch__workspace=workspace, status=RunStatus.COMPLETED, started_at__isnull=False
    ).order_by("-finished_at")[:LEARNED_FROM]
    taken = [seconds / 3600 for run in rows if (seconds := run.seconds)]
    return median(taken) if taken else DEFAULT_HOURS


def _day(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=min(days, 36_500))).date().isoformat()


def _number(request: Request, name: str, default: int, maximum: int) -> Any:
    text = request.GET.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= maximum):
        message = f"must be a whole number from 1 to {maximum}"
        raise ValidationFailed(f"{name}: {message}", fields={name: [message]})
    return int(text)
