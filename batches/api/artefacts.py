"""/api/v2/runs/{id}/output and /patch: bytes as they are, in bounded pieces."""

from pathlib import Path
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from batches import shown
from batches.api.runs import RunBase
from batches.changes import NothingCaptured, patch_file
from batches.keys import load_keys
from batches.models.run import LIVE
from batches.supervisor.layout import STREAMS
from tasks.api.describe import BYTES, asked, counted, describe
from tasks.api.query import MAX_BIG, refuse, whole_number
from tasks.errors import NotFound
from tasks.workspaces.git import GitError

MAX_OUTPUT = 1024 * 1024
DEFAULT_OUTPUT = 64 * 1024
MAX_PATCH = 16 * 1024 * 1024
OFFSET = counted("offset", "The first byte", 0, MAX_BIG, 0)


class RunOutputView(RunBase):
    http_method_names = ["get", "head", "options"]

    @describe(
        "read_run_output",
        "What the agent printed; X-Next-Offset says where to go on",
        returns=BYTES,
        query=[
            asked("stream", "Which one", enum=list(STREAMS), default="stdout"),
            OFFSET,
            counted("limit", "Bytes at most", 0, MAX_OUTPUT, DEFAULT_OUTPUT),
        ],
    )
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        """X-Cut: bytes before X-Offset that were not kept. X-Ended: 1 when no more will come."""
        stream = request.GET.get("stream", "stdout")
        if stream not in STREAMS:
            refuse("stream", f"is {' or '.join(STREAMS)}")
        offset = whole_number(request, "offset", 0)
        limit = whole_number(request, "limit", DEFAULT_OUTPUT, most=MAX_OUTPUT)
        run = self.run_row(run_id)
        # Its end was read first: what it printed up to then is all there.
        ended = run.status not in LIVE
        load_keys()
        chunk = shown.read_output(run, stream, offset, limit)
        response = _download(chunk.data, f"{run.short_id}.{stream}.log")
        response["X-Offset"] = str(chunk.offset)
        response["X-Next-Offset"] = str(chunk.end)
        response["X-Cut"] = str(chunk.cut)
        response["X-Ended"] = "1" if ended and not chunk.data and limit else "0"
        return response


class RunPatchView(RunBase):
    http_method_names = ["get", "head", "options"]

    @describe(
        "read_run_patch",
        "The change as `git apply` takes it; known secrets in it are masked",
        returns=BYTES,
        query=[OFFSET, counted("limit", "Bytes at most", 1, MAX_PATCH, MAX_PATCH)],
    )
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        """Whole unless it is larger than `limit`; X-Total says how large. Pieces join exactly."""
        offset = whole_number(request, "offset", 0)
        limit = whole_number(request, "limit", MAX_PATCH, least=1, most=MAX_PATCH)
        run = self.run_row(run_id)
        try:
            file = patch_file(run)
            load_keys()
            shown.mask_file(file)
            data, total = _piece(file, offset, limit)
        except NothingCaptured as error:
            raise NotFound(str(error)) from error
        except GitError as error:
            raise NotFound(f"the repository does not give it: {error}") from error
        response = _download(data, f"{run.short_id}.patch")
        response["X-Total"] = str(total)
        response["X-Next-Offset"] = str(min(offset + len(data), total))
        return response


def _piece(path: Path, offset: int, limit: int) -> tuple[bytes, int]:
    """Of a temporary file, which is removed."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(limit), path.stat().st_size
    finally:
        path.unlink()


def _download(data: bytes, name: str) -> HttpResponse:
    """Never shown in a browser: an agent wrote it."""
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
