"""/api/v2/schedule: what is left, when it would be done, and what holds it up."""

from datetime import UTC, datetime, timedelta
from statistics import median
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from batches.api.shapes import BottleneckShape, PredictionShape, ScheduleShape
from batches.models import Run
from batches.models.run import RunStatus
from batches.plan import dependency_edges
from tasks.api.base import ApiView
from tasks.api.describe import WORKSPACE, asked, counted, describe
from tasks.api.query import number, whole_number
from tasks.models import Task, Workspace
from tasks.models.task import FINISHED
from tasks.planning.schedule import DEFAULT_HOURS, Forecast, forecast

LEARNED_FROM = 30
"""So many of the last completed runs tell how long a task without an estimate takes."""
MAX_AGENTS = 64
EARLY, LATE = 0.8, 1.5
AGENTS = counted("agents", "Working side by side", 1, MAX_AGENTS, 1)
ADVICE = {
    "dependencies": "It waits for others on the longest chain: free it of what it waits for.",
    "duration": "It begins the longest chain: split it, or start it first.",
}


class ScheduleView(ApiView):
    @describe(
        "schedule", "Who would do what, and when", returns=ScheduleShape, query=[*WORKSPACE, AGENTS]
    )
    def get(self, request: Request) -> Response:
        agents = whole_number(request, "agents", 1, least=1, most=MAX_AGENTS)
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
    @describe(
        "predict",
        "When it would all be done",
        returns=PredictionShape,
        query=[
            *WORKSPACE,
            AGENTS,
            asked("hours_per_day", "Above 0, up to 24", float, default=8),
        ],
    )
    def get(self, request: Request) -> Response:
        agents = whole_number(request, "agents", 1, least=1, most=MAX_AGENTS)
        hours_per_day = number(request, "hours_per_day", 8, most=24)
        workspace = self.workspace()
        tasks, plan, _ = plan_of(workspace, agents)
        total = Task.objects.filter(workspace=workspace, is_leaf=True).count()
        done = total - len(tasks)
        days = plan.total_hours / hours_per_day
        body = {
            "predicted_date": _day(days),
            "remaining_hours": round(plan.total_hours, 4),
            "completed_percentage": round(100 * done / total, 1) if total else 100.0,
            "confidence_interval": {"early": _day(days * EARLY), "late": _day(days * LATE)},
        }
        return Response(body)


class BottlenecksView(ApiView):
    @describe(
        "bottlenecks",
        "Tasks of the critical path, the longest first",
        returns=BottleneckShape(many=True),
        query=WORKSPACE,
    )
    def get(self, request: Request) -> Response:
        tasks, plan, learned = plan_of(self.workspace(), 1)
        waits = open_dependencies(tasks)
        rows = []
        for task_id in plan.critical_path:
            kind = "dependencies" if waits[task_id] else "duration"
            hours = hours_of(tasks[task_id], learned)
            rows.append(
                {
                    "task_id": str(task_id),
                    "task_title": tasks[task_id].title,
                    "bottleneck_type": kind,
                    "impact_hours": round(hours, 4),
                    "recommendation": ADVICE[kind],
                }
            )
        return Response(sorted(rows, key=lambda row: -float(row["impact_hours"])))


def plan_of(workspace: Workspace, agents: int) -> tuple[dict[UUID, Task], Forecast[UUID], float]:
    """Open leaves, their forecast, and the hours assumed where nobody estimated."""
    rows = Task.objects.filter(workspace=workspace, is_leaf=True).exclude(status__in=FINISHED)
    tasks = {task.id: task for task in rows.only("id", "title", "estimated_hours")}
    learned = typical_hours(workspace)
    hours = {task.id: hours_of(task, learned) for task in tasks.values()}
    graph = open_dependencies(tasks)
    return tasks, forecast(graph, hours, agents=agents), learned


def open_dependencies(tasks: dict[UUID, Task]) -> dict[UUID, list[UUID]]:
    """What is finished holds nothing up."""
    edges = dependency_edges(tasks)
    return {task_id: [d for d in edges.get(task_id, ()) if d in tasks] for task_id in tasks}


def hours_of(task: Task, learned: float) -> float:
    """An estimate of 0 is an estimate."""
    return learned if task.estimated_hours is None else task.estimated_hours


def typical_hours(workspace: Workspace) -> float:
    """Median of what completed runs here really took."""
    rows = Run.objects.filter(
        batch__workspace=workspace, status=RunStatus.COMPLETED, started_at__isnull=False
    ).order_by("-finished_at")[:LEARNED_FROM]
    taken = [seconds / 3600 for run in rows if (seconds := run.seconds)]
    return median(taken) if taken else DEFAULT_HOURS


def _day(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=min(days, 36_500))).date().isoformat()
