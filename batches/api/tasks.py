"""/api/v2/tasks: what needs to know of batches: delete, approve, assignment-status, run."""

from typing import Any

from django.db.models import Count
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches.api.choosing import options_of
from batches.api.serializers import BatchOptionsInput, run_object
from batches.api.shapes import ApprovedShape, AssignmentShape, DeletedShape, TaskRunShape
from batches.approval import Approval, approve_tasks
from batches.deletion import delete_task
from batches.models import Run
from batches.models.run import LIVE
from costs import reports
from tasks.api.base import ApiView, RowId
from tasks.api.describe import WORKSPACE, describe
from tasks.api.fields import StrictBoolean, id_list, read_input
from tasks.api.tasks import TaskView
from tasks.errors import NotFound
from tasks.models import Task
from tasks.models.task import TaskStatus


class TaskWithDeleteView(TaskView):
    @describe(
        "delete_task",
        "Delete a task that no active batch needs; dependents lose the dependency",
        returns=DeletedShape,
        errors=(409,),
    )
    def delete(self, request: Request, task_id: RowId) -> Response:
        task = self.task(task_id)
        short = task.id.hex[:8]
        delete_task(task=task)
        return Response({"success": True, "message": f"Task {short} deleted successfully"})


class ApproveView(ApiView):
    class Input(BatchOptionsInput):
        task_ids = id_list(allow_null=True, help_text="Only these; left out: all in BACKLOG")
        excluded_task_ids = id_list(help_text="All but these")
        start_execution = StrictBoolean(default=False)

        def validate(self, attrs: Any) -> Any:
            if attrs.get("task_ids") is not None and attrs.get("excluded_task_ids"):
                raise serializers.ValidationError(
                    {"task_ids": ["give task_ids or excluded_task_ids, not both"]}
                )
            return attrs

    @describe(
        "approve_tasks",
        "BACKLOG to READY, and perhaps straight into a batch: all of it or nothing",
        returns=ApprovedShape,
        takes=Input,
        query=WORKSPACE,
        errors=(409,),
        example={"excluded_task_ids": [], "start_execution": True, "engine": "fixer"},
    )
    def post(self, request: Request) -> Response:
        given = read_input(self.Input, request.data)
        workspace = self.workspace()
        only, excluded = given.pop("task_ids", None), given.pop("excluded_task_ids", ())
        start = given.pop("start_execution")
        approval = approve_tasks(
            workspace=workspace,
            only=only,
            excluded=excluded,
            start=options_of(request, workspace, given) if start else None,
            by=request.user.get_username(),
        )
        batch = approval.batch
        body = {
            "success": True,
            "approved_count": len(approval.approved),
            "excluded_count": len(approval.excluded),
            "approved_task_ids": [str(task_id) for task_id in approval.approved],
            "excluded_task_ids": [str(task_id) for task_id in approval.excluded],
            "batch_id": str(batch.id) if batch else None,
            "message": _approved(approval),
        }
        headers = {"Location": f"/api/v2/batches/{batch.id}"} if batch else None
        return Response(body, headers=headers)


def _approved(approval: Approval) -> str:
    if not approval.approved:
        why = "" if approval.excluded else " (no BACKLOG tasks found)"
        return f"No tasks to approve{why}."
    started = f" and started execution (batch {approval.batch.short_id})" if approval.batch else ""
    return f"Approved {len(approval.approved)} task(s){started}."


class AssignmentStatusView(ApiView):
    @describe(
        "assignment_status",
        "Whether a batch could be started",
        returns=AssignmentShape,
        query=WORKSPACE,
    )
    def get(self, request: Request) -> Response:
        rows = Task.objects.filter(workspace=self.workspace(), is_leaf=True)
        counts = dict(rows.order_by().values_list("status").annotate(Count("id")))
        ready = counts.get(TaskStatus.READY, 0)
        running = counts.get(TaskStatus.IN_PROGRESS, 0)
        body = {
            "pending_count": ready,
            "executing_count": running,
            "can_assign": bool(ready) and not running,
            "reason": _assignment_reason(ready, running),
        }
        return Response(body)


def _assignment_reason(ready: int, running: int) -> str:
    if running:
        return f"Execution already in progress ({running} task(s) running)."
    return f"{ready} task(s) ready for assignment." if ready else "No pending tasks to assign."


class TaskRunView(TaskView):
    http_method_names = ["get", "head", "options"]

    @describe("read_task_run", "A task's active run, else its newest", returns=TaskRunShape)
    def get(self, request: Request, task_id: RowId) -> Response:
        rows = Run.objects.filter(task=self.task(task_id))
        run = rows.filter(status__in=LIVE).first() or rows.order_by("-created_at").first()
        if run is None:
            refusal = NotFound("this task has never run")
            refusal.title = "No run found"
            raise refusal
        body = run_object(run, reports.cost_of_runs([run.batch_id])) | {
            "success": True,
            "has_output": run.output_bytes > 0,
            "message": f"Run {run.short_id} is {run.status}",
        }
        return Response(body)
