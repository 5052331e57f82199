"""POST /api/v2/tasks/execute: a batch from tasks, at once, with the work left to the queue."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle
from batches.admission import admit, engine_options, only_engine
from batches.api.serializers import BatchOptionsInput
from batches.options import BatchOptions
from tasks.api.base import ApiView, read_input


class ExecuteView(ApiView):
    class Input(BatchOptionsInput):
        task_ids = serializers.ListField(
            child=serializers.UUIDField(), required=False, allow_null=True, max_length=10_000
        )

    def post(self, request: Request) -> Response:
        given = read_input(self.Input, request.data)
        workspace = self.workspace()
        task_ids = given.pop("task_ids", None)
        options = to_options(given)
        admission = admit(workspace=workspace, options=options, task_ids=task_ids)
        batch = lifecycle.create_batch(
            admission=admission, origin="api", created_by=request.user.get_username()
        )
        message = f"Started execution for {batch.total} task(s) (batch {batch.short_id})."
        body = {
            "success": True,
            "batch_id": str(batch.id),
            "task_count": batch.total,
            "strategy": batch.strategy,
            "engine": batch.engine,
            "message": message,
        }
        return Response(body, status=200, headers={"Location": f"/api/v2/batches/{batch.id}"})


def to_options(given: dict[str, Any]) -> BatchOptions:
    """Raises InvalidOptions."""
    name = given.pop("engine") or only_engine()
    retries = given.pop("retry_count")
    return BatchOptions(
        engine=name, engine_options=engine_options(name), max_retries=retries, **given
    )
