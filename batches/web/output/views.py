"""An agent's output on its run's page: windows of it, what came since, what is looked for."""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from batches import paths
from batches.changes import NothingCaptured, patch_file
from batches.models import Run
from batches.models.run import LIVE
from batches.shown import mask_file
from batches.supervisor import spool
from batches.supervisor.layout import STREAMS
from batches.web.output import window
from batches.web.output.finding import MAX_QUERY, find
from batches.web.output.lines import offset_of_line
from batches.web.output.telling import telling_stream
from batches.web.rows import run_row
from tasks.workspaces.git import GitError

AROUND = 20
"""Lines shown before one that is asked for."""
MOST_FOLLOWED = 400
LARGEST_PATCH = 64 * 1024 * 1024
MAX_DIGITS = 18


def output_context(request: HttpRequest, run: Run) -> dict[str, Any]:
    """`?stream=` and one of `line`, `from`, `before` (the newest without), and `q`."""
    run_dir = paths.agent_dir(run.id) if run.started_at else None
    stream = request.GET.get("stream") or telling_stream(run)
    if stream not in STREAMS:
        raise Http404("There is no such stream of output.")
    query = request.GET.get("q", "").replace("\0", "")[:MAX_QUERY]
    context: dict[str, Any] = {"stream_name": stream, "query": query, "streams": []}
    if run_dir is None:
        return context
    hits, more = find(run_dir, stream, query) if query else ([], False)
    return context | {
        "streams": [(name, spool.size(run_dir, name)) for name in STREAMS],
        "window": _asked(request, run_dir, stream),
        "line": _number(request, "line"),
        "hits": hits,
        "more_hits": more,
        "follows": run.status in LIVE and not _is_placed(request),
    }


@require_safe
@login_required
def output_part(request: HttpRequest, run_id: UUID) -> HttpResponse:
    run = run_row(request, run_id)
    context = {"run": run, "batch": run.batch} | output_context(request, run)
    return render(request, "batches/run/parts/output.html", context)


@require_safe
@login_required
def output_since(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The lines from `?from=` on, for a page that follows; newer ones only when they are many."""
    run = run_row(request, run_id)
    stream = request.GET.get("stream", STREAMS[0])
    if stream not in STREAMS or run.started_at is None:
        raise Http404("There is no such output.")
    run_dir = paths.agent_dir(run.id)
    start = _number(request, "from") or 0
    found = window.after(run_dir, stream, start, limit=MOST_FOLLOWED)
    skipped = found.below > 0
    if skipped:
        found = window.newest(run_dir, stream, limit=MOST_FOLLOWED)
    context = {"run": run, "window": found, "skipped": skipped}
    return render(request, "batches/run/parts/since.html", context)


@require_safe
@login_required
def output_download(request: HttpRequest, run_id: UUID, stream: str) -> HttpResponse:
    """All that was kept, bounded by the spool's own cap; a place where it was cut says so."""
    run = run_row(request, run_id)
    if stream not in STREAMS:
        raise Http404("There is no such stream of output.")
    parts: list[bytes] = []
    run_dir = paths.agent_dir(run.id)
    end = spool.size(run_dir, stream) if run.started_at else 0
    for chunk in window.read(run_dir, stream, 0, end):
        if chunk.cut:
            parts.append(b"\n[codeframe: %d bytes were cut here]\n" % chunk.cut)
        parts.append(chunk.data)
    return _attachment(b"".join(parts), f"{run.short_id}.{stream}.log")


@require_safe
@login_required
def patch_download(request: HttpRequest, run_id: UUID) -> HttpResponse:
    run = run_row(request, run_id)
    try:
        path = patch_file(run)
    except NothingCaptured as error:
        raise Http404(str(error)) from error
    except GitError as error:
        raise Http404(f"The repository does not give it: {error}") from error
    try:
        mask_file(path)
        if path.stat().st_size > LARGEST_PATCH:
            raise Http404("The patch is too large for a page; git diff gives it.")
        data = path.read_bytes()
    finally:
        path.unlink(missing_ok=True)
    return _attachment(data, f"{run.short_id}.patch")


def _asked(request: HttpRequest, run_dir: Path, stream: str) -> window.Window:
    if (line := _number(request, "line")) is not None:
        offset = offset_of_line(run_dir, stream, max(1, line - AROUND))
        return window.after(run_dir, stream, offset)
    if (start := _number(request, "from")) is not None:
        return window.after(run_dir, stream, start)
    if (end := _number(request, "before")) is not None:
        return window.before(run_dir, stream, min(end, spool.size(run_dir, stream)))
    return window.newest(run_dir, stream)


def _is_placed(request: HttpRequest) -> bool:
    return any(_number(request, name) is not None for name in ("line", "from", "before"))


def _number(request: HttpRequest, name: str) -> int | None:
    """What is no number is not asked for."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None


def _attachment(data: bytes, name: str) -> HttpResponse:
    """Never shown in a browser: an agent wrote it."""
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
