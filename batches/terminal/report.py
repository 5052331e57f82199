"""What a batch came to: a table for a person, an object for a program."""

from typing import Any

from batches.models import Batch, Run
from batches.models.batch import RESUMABLE, BatchStatus
from batches.terminal.states import seconds, sign
from batches.waiting import why_waiting
from tasks.console import EXIT_CANCELLED, EXIT_FAILED, EXIT_INTERRUPTED
from tasks.tables import shorten, table
from tasks.text import clip

HEADING = ["", "TASK", "STATUS", "REASON", "TRIES", "TIME", "FILES", "GATES"]
TITLE, REASON, TRIES, TIME, FILES, GATES = 1, 3, 4, 5, 6, 7
LONGEST_TITLE = 60
EXIT_CODES = {BatchStatus.COMPLETED: 0, BatchStatus.CANCELLED: EXIT_CANCELLED}


def last_runs(batch: Batch) -> list[Run]:
    rows = Run.objects.filter(batch=batch, superseded=False).order_by("position")
    rows = rows.defer("agent_state")
    return list(rows.prefetch_related("gate_records"))


def exit_code(batch: Batch, *, interrupted: bool = False) -> int:
    status = BatchStatus(batch.status)
    if interrupted and status is not BatchStatus.COMPLETED:
        return EXIT_INTERRUPTED
    return EXIT_CODES.get(status, EXIT_FAILED)


def report_lines(batch: Batch, *, width: int | None = None) -> list[str]:
    """Columns fit a terminal of that many cells; None is no limit."""
    runs = last_runs(batch)
    rows = [HEADING, *map(_cells, runs)]
    lines = table(rows, right=(TRIES, TIME, FILES), yielding=(TITLE, GATES, REASON), width=width)
    lines += ["", f"batch {batch.short_id}: {batch.status}{_because(batch)}"]
    if waiting := why_waiting(batch):
        lines.append(waiting)
    if batch.verification:
        lines.append(f"verification: {batch.verification}, {clip(batch.verification_reason, 300)}")
    if batch.landing:
        lines.append(f"landing: {batch.landing}, {batch.landing_detail}")
    for run in runs:
        if run.message and run.status != "COMPLETED":
            lines.append(f"{shorten(run.title, LONGEST_TITLE)}: {clip(run.message, 500)}")
    if batch.status in RESUMABLE:
        lines.append(
            f"to go on with what did not complete: manage.py batch resume {batch.short_id}"
        )
    return lines


def report_object(batch: Batch) -> dict[str, Any]:
    return {
        "batch": str(batch.id),
        "status": batch.status,
        "reason": batch.reason,
        "message": batch.message,
        "waiting": why_waiting(batch),
        "verification": batch.verification,
        "verification_reason": batch.verification_reason,
        "landing": batch.landing,
        "landing_detail": batch.landing_detail,
        "landed_commit": batch.landed_commit,
        "branch": batch.branch,
        "tasks": [_object(run) for run in last_runs(batch)],
    }


def _object(run: Run) -> dict[str, Any]:
    return {
        "task": str(run.task_id) if run.task_id else None,
        "title": run.title,
        "run": str(run.id),
        "status": run.status,
        "reason": run.reason,
        "message": run.message,
        "attempts": run.attempt,
        "seconds": duration(run),
        "files_changed": run.files_changed,
        "verification": run.verification,
        "verification_reason": run.verification_reason,
        "commit": run.capture_commit,
        "gates": {gate.name: gate.outcome for gate in run.gate_records.all()},
    }


def _cells(run: Run) -> list[str]:
    took = duration(run)
    started = run.started_at is not None
    return [
        sign(run.status),
        shorten(run.title, LONGEST_TITLE),
        run.status,
        run.reason,
        str(run.attempt) if started else "-",
        seconds(took) if took is not None else "-",
        str(run.files_changed) if started else "-",
        _gates(run),
    ]


def _gates(run: Run) -> str:
    """The verdict in a word, with the gates that did not pass."""
    records = run.gate_records.all()
    amiss = ", ".join(f"{gate.name} {gate.outcome}" for gate in records if gate.outcome != "passed")
    return amiss or run.verification


def _because(batch: Batch) -> str:
    words = batch.message or batch.reason
    return f", {words}" if words else ""


def duration(run: Run) -> float | None:
    """Seconds from start to end; None while it has not ended or never started."""
    if run.started_at is None or run.finished_at is None:
        return None
    return round((run.finished_at - run.started_at).total_seconds(), 3)
