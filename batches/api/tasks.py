"""/api/v2/tasks: what needs to know of batches: delete, approve, start, stop, resume, runs."""

from typing import Any
from uuid import UUID

from django.db.models import Count
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.admission import admit
from batches.api.batches import titled
from batches.api.execute import to_options
from batches.api.serializers import BatchOptionsInput, run_object
from batches.approval import approve_tasks
from batches.deletion import delete_task
from batches.errors import InvalidState, InvalidTasks
from batches.models import Run
from batches.models.run import LIVE, RunStatus
from batches.resuming import resume
from tasks.api.base import ApiView, StrictBoolean, read_input
from tasks.api.tasks import TaskView
from tasks.errors import NotFound
from tasks.models import Task
from tasks.models.task import TaskStatus


class TaskWithDeleteView(TaskView):
    def delete(self, request: Request, task_id: UUID) -> Response:
        task = self.task(task_id)
        short = task.id.hex[:8]
        delete_task(task=task)
        return Response({"success": True, "message": f"Task {short} deleted successfully"})


class ApproveView(ApiView):
    class Input(BatchOptionsInput):
        task_ids = serializers.ListField(
            child=serializers.UUIDField(), required=False, allow_null=True, max_length=10_000
        )
        excluded_task_ids = serializers.ListField(
            child=serializers.UUIDField(), required=False, max_length=10_000
        )
        start_execution = StrictBoolean(default=False)

        def validate(self, attrs: Any) -> Any:
            if attrs.get("task_ids") is not None and attrs.get("excluded_task_ids"):
                raise serializers.ValidationError(
                    {"task_ids": ["give task_ids or excluded_task_ids, not both"]}
                )
            return attrs

    def post(self, request: Request) -> Response:
        given = read_input(self.Input, request.data)
        workspace = self.workspace()
        only, excluded = given.pop("task_ids", None), given.pop("excluded_task_ids", ())
        start = given.pop("start_execution")
        approval = approve_tasks(
            workspace=workspace,
            only=only,
            excluded=excluded,
            start=to_options(given) if start else None,
            by=request.user.get_username(),
        )
        batch = approval.batch
        count = len(approval.approved)
        message = f"Approved {count} task(s)" if count else "No tasks to approve"
        if batch:
            message += f" and started execution (batch {batch.short_id})"
        body = {
            "success": True,
            "approved_count": count,
            "excluded_count": len(approval.excluded),
            "approved_task_ids": [str(task_id) for task_id in approval.approved],
            "excluded_task_ids": [str(task_id) for task_id in approval.excluded],
            "batch_id": str(batch.id) if batch else None,
            "message": f"{message}.",
        }
        return Response(body)


class AssignmentStatusView(ApiView):
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


class TaskActionView(TaskView):
    http_method_names = ["post", "options"]

    def answer(self, run: Run, status: str, message: str) -> Response:
        body = {
            "success": True,
            "run_id": str(run.id),
            "batch_id": str(run.batch_id),
            "task_id": str(run.task_id),
            "status": status,
            "message": message,
        }
        return Response(body, status=202, headers={"Location": f"/api/v2/runs/{run.id}"})


class StartView(TaskActionView):
    def post(self, request: Request, task_id: UUID) -> Response:
        """A batch of one: the same guard, the same queue, the same record."""
        task = self.task(task_id)
        options = to_options(read_input(BatchOptionsInput, request.data))
        admission = admit(workspace=task.workspace, options=options, task_ids=[task.id])
        try:
            batch = lifecycle.create_batch(
                admission=admission, origin="start", created_by=request.user.get_username()
            )
        except InvalidTasks as error:
            refusal = InvalidState(error.message)
            refusal.title = "Cannot start"
            raise refusal from error
        run = Run.objects.get(batch=batch)
        return self.answer(run, "executing", f"Task {task.id.hex[:8]} runs in the background.")


class StopTaskView(TaskActionView):
    def post(self, request: Request, task_id: UUID) -> Response:
        task = self.task(task_id)
        with titled("Cannot stop"):
            run = Run.objects.filter(task=task, status__in=LIVE).first()
            if run is None:
                raise InvalidState("no run of this task is active")
            if run.status == RunStatus.RUNNING:
                lifecycle.stop_run(run=run, by=request.user.get_username())
            elif Run.objects.filter(batch_id=run.batch_id).count() == 1:
                lifecycle.cancel_batch(batch_id=run.batch_id, reason="stopped before it began")
            else:
                raise InvalidState("it has not begun; stop or cancel its batch")
        run.refresh_from_db()
        return self.answer(run, run.status, f"Run {run.short_id} is told to stop.")


class ResumeTaskView(TaskActionView):
    def post(self, request: Request, task_id: UUID) -> Response:
        """The last run's batch does this task again, with the settings it had."""
        task = self.task(task_id)
        with titled("Cannot resume"):
            run = Run.objects.filter(task=task, superseded=False).order_by("-created_at").first()
            if run is None:
                raise InvalidState("this task has never run")
            if run.status == RunStatus.COMPLETED:
                raise InvalidState("its last run completed")
            resume(batch=run.batch, only=[task.id], by=request.user.get_username())
        following = Run.objects.filter(task=task, batch_id=run.batch_id).latest("attempt")
        return self.answer(following, "RUNNING", f"Task {task.id.hex[:8]} is done again.")


class TaskRunView(TaskView):
    http_method_names = ["get", "head", "options"]

    def get(self, request: Request, task_id: UUID) -> Response:
        """The active run, else the newest."""
        task = self.task(task_id)
        rows = Run.objects.filter(task=task)
        run = rows.filter(status__in=LIVE).first() or rows.order_by("-created_at").first()
        if run is None:
            raise NotFound("No run found")
        body = run_object(run) | {
            "success": True,
            "has_output": run.output_bytes > 0,
            "message": f"Run {run.short_id} is {run.status}",
        }
        return Response(body)


def _assignment_reason(ready: int, running: int) -> str:
    if running:
        return f"Execution already in progress ({running} task(s) running)."
    return f"{ready} task(s) ready for assignment." if ready else "No pending tasks to assign."
