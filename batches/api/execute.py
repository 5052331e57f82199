"""POST /api/v2/tasks/execute: a batch from tasks, at once, with the work left to the queue."""

from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.admission import Admission, admit
from batches.api.choosing import options_of
from batches.api.serializers import BatchOptionsInput
from batches.api.shapes import StartedShape
from batches.plan import dependency_edges
from tasks.api.base import ApiView
from tasks.api.describe import WORKSPACE, describe
from tasks.api.fields import StrictBoolean, id_list, read_input
from tasks.planning.graph import waves
from tasks.text import plural


class ExecuteView(ApiView):
    class Input(BatchOptionsInput):
        task_ids = id_list(
            allow_null=True, help_text="Left out: every READY task; an empty list runs nothing"
        )
        dry_run = StrictBoolean(default=False, help_text="Says what would run; writes nothing")

    @describe(
        "execute_tasks",
        "Start a batch",
        returns=StartedShape,
        takes=Input,
        query=WORKSPACE,
        errors=(409,),
        example={"strategy": "parallel", "max_parallel": 4, "retry_count": 1, "engine": "fixer"},
    )
    def post(self, request: Request) -> Response:
        given = read_input(self.Input, request.data)
        workspace = self.workspace()
        task_ids, dry_run = given.pop("task_ids", None), given.pop("dry_run")
        options = options_of(request, workspace, given)
        admission = admit(workspace=workspace, options=options, task_ids=task_ids)
        if dry_run:
            return _plan(admission)
        batch = lifecycle.create_batch(
            admission=admission, origin="api", created_by=request.user.get_username()
        )
        body = {
            "success": True,
            "batch_id": str(batch.id),
            "task_count": batch.total,
            "strategy": batch.strategy,
            "engine": batch.engine,
            "dry_run": False,
            "message": f"Started execution for {batch.total} task(s) (batch {batch.short_id}).",
        }
        return Response(body, headers={"Location": f"/api/v2/batches/{batch.id}"})


def _plan(admission: Admission) -> Response:
    ids = [task.id for task in admission.check()]
    edges = dependency_edges(ids)
    levels = waves({task_id: edges.get(task_id, []) for task_id in ids})
    body = {
        "success": True,
        "batch_id": None,
        "task_count": len(ids),
        "strategy": admission.options.strategy,
        "engine": admission.options.engine,
        "dry_run": True,
        "message": f"{plural(len(ids), 'task')} would run; nothing was written.",
        "waves": [[str(task_id) for task_id in level] for level in levels],
    }
    return Response(body)
