"""/api/v2/runs: one attempt, its stages, gates, findings, output and change."""

from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.http import FileResponse, HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from batches import lifecycle, paths
from batches.api.batches import titled
from batches.api.serializers import run_object
from batches.changes import NothingCaptured, patch_file
from batches.models import Run
from batches.models.run import RunStatus
from batches.supervisor import spool
from tasks.access import require_role
from tasks.api.base import ApiView
from tasks.api.pages import page_of
from tasks.errors import NotFound, ValidationFailed

MAX_OUTPUT = 1024 * 1024
DEFAULT_OUTPUT = 64 * 1024


class RunView(ApiView):
    def get(self, request: Request, run_id: UUID) -> Response:
        run = self.run_row(run_id)
        body = run_object(run) | {
            "stages": [
                {
                    "name": stage.name,
                    "outcome": stage.outcome,
                    "detail": stage.detail,
                    "started_at": stage.started_at.isoformat(),
                    "ended_at": stage.ended_at.isoformat() if stage.ended_at else None,
                }
                for stage in run.stages.all()
            ],
            "gates": [_gate(gate) for gate in run.gate_records.all()],
            "findings": [
                {
                    "rule": finding.rule,
                    "severity": finding.severity,
                    "path": finding.path,
                    "message": finding.message,
                }
                for finding in run.findings.all()
            ],
        }
        return Response(body)

    def run_row(self, run_id: UUID) -> Run:
        rows = Run.objects.select_related("batch__workspace")
        run = rows.filter(id=run_id, batch__workspace__in=self.visible()).first()
        if run is None:
            raise NotFound("no such run")
        require_role(self.request.user, run.batch.workspace, self.role())
        return run


class RunOutputView(RunView):
    """?stream=stdout&offset=0&limit=65536: bytes as they were, by range."""

    http_method_names = ["get", "head", "options"]

    def get(self, request: Request, run_id: UUID) -> HttpResponse:  # type: ignore[override]
        run = self.run_row(run_id)
        stream = request.GET.get("stream", "stdout")
        if stream not in ("stdout", "stderr"):
            raise ValidationFailed("stream: is stdout or stderr")
        offset = _number(request, "offset", 0, 2**53)
        limit = _number(request, "limit", DEFAULT_OUTPUT, MAX_OUTPUT)
        folder = paths.agent_dir(run.id)
        chunk = spool.read(folder, stream, offset, limit)
        response = HttpResponse(chunk.data, content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="{run.short_id}.{stream}.log"'
        response["X-Offset"] = str(chunk.offset)
        response["X-Next-Offset"] = str(chunk.end)
        response["X-Cut"] = str(chunk.cut)
        response["X-Ended"] = "0" if run.status in (RunStatus.QUEUED, RunStatus.RUNNING) else "1"
        return response


class RunPatchView(RunView):
    """The change as `git apply` takes it, byte for byte."""

    http_method_names = ["get", "head", "options"]

    def get(self, request: Request, run_id: UUID) -> FileResponse:  # type: ignore[override]
        run = self.run_row(run_id)
        try:
            path = patch_file(run)
        except NothingCaptured as error:
            raise NotFound(str(error)) from error
        size = path.stat().st_size
        response = FileResponse(_until_closed(path), content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="{run.short_id}.patch"'
        response["Content-Length"] = str(size)
        return response


class RunStopView(RunView):
    http_method_names = ["post", "options"]

    def post(self, request: Request, run_id: UUID) -> Response:
        run = self.run_row(run_id)
        with titled("Cannot stop"):
            lifecycle.stop_run(run=run, by=request.user.get_username())
        return Response(run_object(self.run_row(run_id)), status=202)


class TaskRunsView(ApiView):
    """The history of a task's attempts, newest first."""

    def get(self, request: Request, task_id: UUID) -> Response:
        rows = Run.objects.filter(task_id=task_id, batch__workspace__in=self.visible())
        found, cursor = page_of(rows, request, order=("-created_at", "id"), default=20, maximum=100)
        return Response({"runs": [run_object(run) for run in found], "next_cursor": cursor})


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


def _number(request: Request, name: str, default: int, maximum: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= maximum):
        message = f"must be a whole number up to {maximum}"
        raise ValidationFailed(f"{name}: {message}", fields={name: [message]})
    return int(text)


def _until_closed(path: Path) -> IO[bytes]:
    """The open file; its name goes at once, so nothing is left when the client goes away."""
    file = path.open("rb")
    path.unlink()
    return file
