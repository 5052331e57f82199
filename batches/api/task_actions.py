"""/api/v2/tasks/{id}/start, /stop and /resume: a task by itself is a batch of one."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.admission import admit
from batches.api.batches import titled
from batches.api.choosing import options_of
from batches.api.serializers import BatchOptionsInput
from batches.api.shapes import TaskActionShape
from batches.api.waiting import answer_when
from batches.errors import InvalidState, InvalidTasks
from batches.models import Run
from batches.models.run import LIVE, RunStatus
from batches.resuming import resume
from tasks.api.base import RowId
from tasks.api.describe import asked, describe
from tasks.api.fields import StrictSerializer, read_input
from tasks.api.query import refuse, yes_or_no
from tasks.api.tasks import TaskView

OLDER = [
    asked("execute", "true, as it always is: there is no run without an agent", bool),
    asked("verbose", "Ignored", bool),
]
"""What programs of the older API say in the query."""


class TaskActionView(TaskView):
    http_method_names = ["post", "options"]

    def refuse_recording_only(self, request: Request) -> None:
        if yes_or_no(request, "execute") is False:
            refuse("execute", "cannot be false: there is no run without an agent")
        if yes_or_no(request, "dry_run"):
            refuse("dry_run", "belongs to POST /api/v2/tasks/execute")

    def begun(self, run: Run, status: str, message: str) -> Response:
        location = f"/api/v2/runs/{run.id}"
        return Response(_body(run, status, message), headers={"Location": location})


class StartView(TaskActionView):
    @describe(
        "start_task",
        "Run one task: the same guard, the same queue, the same record as a batch",
        returns=TaskActionShape,
        takes=BatchOptionsInput,
        query=[asked("engine", "As in the body"), *OLDER],
        errors=(409,),
        example={"engine": "fixer", "timeout_s": 1800},
    )
    def post(self, request: Request, task_id: RowId) -> Response:
        task = self.task(task_id)
        self.refuse_recording_only(request)
        given = read_input(BatchOptionsInput, request.data)
        given["engine"] = given["engine"] or request.GET.get("engine", "")
        options = options_of(request, task.workspace, given)
        admission = admit(workspace=task.workspace, options=options, task_ids=[task.id])
        with titled("Cannot start"):
            try:
                batch = lifecycle.create_batch(
                    admission=admission, origin="start", created_by=request.user.get_username()
                )
            except InvalidTasks as error:
                raise InvalidState(error.message) from error
        run = Run.objects.get(batch=batch)
        return self.begun(run, "executing", f"Task {task.id.hex[:8]} runs in the background.")


class StopTaskView(TaskActionView):
    @describe(
        "stop_task",
        "End the task's agent; its batch goes on",
        returns=TaskActionShape,
        waits=True,
        errors=(400,),
    )
    def post(self, request: Request, task_id: RowId) -> Response:
        task = self.task(task_id)
        by = request.user.get_username()
        with titled("Cannot stop"):
            run = _stop(Run.objects.filter(task=task, status__in=LIVE).first(), by)
        return answer_when(
            request,
            rested=lambda: not Run.objects.filter(id=run.id, status__in=LIVE).exists(),
            body=lambda: _told_to_stop(run),
            location=f"/api/v2/runs/{run.id}",
        )


class ResumeTaskView(TaskActionView):
    class Input(StrictSerializer):
        """Nothing: it goes on with the settings its batch had."""

    @describe(
        "resume_task",
        "Its last batch does this task again, with the settings it had",
        returns=TaskActionShape,
        takes=Input,
        query=OLDER,
        errors=(409,),
    )
    def post(self, request: Request, task_id: RowId) -> Response:
        task = self.task(task_id)
        self.refuse_recording_only(request)
        read_input(self.Input, request.data)
        with titled("Cannot resume"):
            run = Run.objects.filter(task=task, superseded=False).order_by("-created_at").first()
            if run is None:
                raise InvalidState("this task has never run")
            if run.status == RunStatus.COMPLETED:
                raise InvalidState("its last run completed")
            resume(batch=run.batch, only=[task.id], by=request.user.get_username())
        following = Run.objects.filter(task=task, batch_id=run.batch_id).latest("attempt")
        return self.begun(following, "RUNNING", f"Task {task.id.hex[:8]} is done again.")


def _stop(run: Run | None, by: str) -> Run:
    """Raises InvalidState."""
    if run is None:
        raise InvalidState("no run of this task is active")
    if run.status == RunStatus.RUNNING:
        lifecycle.stop_run(run=run, by=by)
    elif Run.objects.filter(batch_id=run.batch_id).count() == 1:
        lifecycle.cancel_batch(batch_id=run.batch_id, reason=f"stopped by {by} before it began")
    else:
        raise InvalidState("it has not begun; stop or cancel its batch")
    return run


def _told_to_stop(run: Run) -> dict[str, Any]:
    run.refresh_from_db()
    return _body(run, run.status, f"Run {run.short_id} was told to stop and is {run.status}.")


def _body(run: Run, status: str, message: str) -> dict[str, Any]:
    return {
        "success": True,
        "run_id": str(run.id),
        "batch_id": str(run.batch_id),
        "task_id": str(run.task_id),
        "status": status,
        "executing": run.status in LIVE,
        "message": message,
    }
