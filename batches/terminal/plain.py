"""One line per thing that happened, for logs; one JSON object per event, for programs."""

import json
from collections.abc import Callable
from uuid import UUID

from batches.models import Batch, Run
from tasks.events import types
from tasks.models import Event
from tasks.text import one_line

Write = Callable[[str], object]
QUIET = frozenset({types.RUN_OUTPUT, types.TASK_STATUS})
RUN_TEXT = {
    types.RUN_STARTED: "started, attempt {attempt}",
    types.RUN_STAGE: "{stage}",
    types.RUN_WAITING: "waits for an agent slot, {limit} run on this machine",
    types.RUN_COMMAND: "{command}: {outcome} after {seconds:.1f} s",
    types.RUN_ENVIRONMENT: "{tool} environment built in {seconds:.1f} s",
    types.RUN_CAPTURED: "work saved as {commit:.10} (files: {files}, +{insertions} -{deletions})",
    types.RUN_GATE: "gate {gate}: {outcome}, {summary}",
    types.RUN_RETRY: "queued again, attempt {attempt}, after {delay_s:.0f} s ({because})",
    types.RUN_STOPPING: "stop requested",
    types.RUN_COMPLETED: "COMPLETED",
    types.RUN_FAILED: "FAILED ({reason}): {message}",
    types.RUN_BLOCKED: "BLOCKED ({reason}): {message}",
    types.RUN_CANCELLED: "CANCELLED ({reason})",
    types.RUN_LOST: "LOST ({reason}): {message}",
    types.RUN_SKIPPED: "SKIPPED ({reason})",
    types.BLOCKER_CREATED: "asks: {question}",
}
BATCH_TEXT = {
    types.BATCH_CREATED: "{total} task(s), {strategy}, up to {max_parallel} at once, {engine}",
    types.BATCH_STARTED: "started",
    types.BATCH_TAKEN_OVER: "taken over from a worker that is gone",
    types.BATCH_RESUMED: "resumed, {runs} tasks to run",
    types.BATCH_STOPPING: "{mode} requested: {reason}",
    types.BATCH_VALIDATED: "validation: {verification}, {reason}",
    types.BATCH_LANDED: "landing: {outcome}, {detail}",
    types.RUN_GATE: "gate {gate}: {outcome}, {summary}",
    types.RUN_ENVIRONMENT: "{tool} environment built in {seconds:.1f} s",
    types.BATCH_CONFIG_IGNORED: ".codeframe/config.yaml does not hold: {why} {problem}",
}


class PlainPrinter:
    def __init__(self, batch: Batch, write: Write) -> None:
        self._batch = batch
        self._write = write
        self._titles: dict[UUID, str] = {}

    def __enter__(self) -> "PlainPrinter":
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def show(self, event: Event) -> None:
        text = describe(event)
        if text:
            self._write(f"{event.created_at:%H:%M:%S} {self._subject(event)}: {text}")

    def _subject(self, event: Event) -> str:
        if event.run_id is None:
            return f"batch {self._batch.short_id}"
        if event.run_id not in self._titles:
            run = Run.objects.filter(id=event.run_id).only("title").first()
            self._titles[event.run_id] = run.title if run else event.run_id.hex[:8]
        return self._titles[event.run_id]


class JsonPrinter:
    """JSON lines: every event as it is, then the caller's result."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def __enter__(self) -> "JsonPrinter":
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def show(self, event: Event) -> None:
        self._write(json.dumps(event_as_json(event)))


def event_as_json(event: Event) -> dict[str, object]:
    return {
        "seq": event.seq,
        "type": event.type,
        "at": event.created_at.isoformat(),
        "batch": str(event.batch_id) if event.batch_id else None,
        "run": str(event.run_id) if event.run_id else None,
        "task": str(event.task_id) if event.task_id else None,
        "payload": event.payload,
    }


def describe(event: Event) -> str:
    """In words; empty for what a log need not show."""
    if event.type in QUIET:
        return ""
    if event.type in types.FINAL_BATCH_EVENTS:
        return event.type.removeprefix("BATCH_")
    if event.type == types.RUN_WAITING and event.payload.get("for") == "environment":
        return "waits for an environment that another run builds"
    table = RUN_TEXT if event.run_id else BATCH_TEXT
    template = table.get(event.type)
    if template is None:
        return event.type
    return one_line(template.format_map(event.payload)).rstrip(" :,")
