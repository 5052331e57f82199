"""One line per thing that happened, for logs; one JSON object per event, for programs."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from batches.models import Batch, Run
from tasks.events import types
from tasks.events.payloads import event_object
from tasks.models import Event
from tasks.text import clip, one_line

Write = Callable[[str], object]
SAID_CHARS = 200
QUIET = frozenset({types.RUN_OUTPUT, types.TASK_STATUS})
RUN_TEXT = {
    types.RUN_STARTED: "started, attempt {attempt}",
    types.RUN_STAGE: "{stage}",
    types.RUN_WAITING: "waits for an agent slot, {limit} run on this machine",
    types.RUN_COMMAND: "{command}: {outcome} after {seconds:.1f} s",
    types.RUN_ENVIRONMENT: "{tool} environment built in {seconds:.1f} s",
    types.RUN_CAPTURED: "work saved as {commit:.10} (files: {files}, +{insertions} -{deletions})",
    types.RUN_GATE: "gate {gate}: {outcome}, {summary}",
    types.RUN_USAGE: "tokens in {input_tokens:,}, cached {cached:,}, out {output_tokens:,}; {cost}",
    types.RUN_DENIED: "not allowed to do {count} thing(s): {shown}",
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
    types.BATCH_PAUSED: "waits for {provider} until {until}: {message}",
    types.BATCH_UNPAUSED: "goes on, {provider} takes requests again",
    types.BATCH_BUDGET: "{told}",
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
        for text in (describe(event), *said(event)):
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
        self._write(json.dumps(event_object(event)))


def said(event: Event) -> list[str]:
    """What the agent said and did, where its engine tells that apart: a line each."""
    if event.type != types.RUN_OUTPUT:
        return []
    items = event.payload.get("items", [])
    return [clip(one_line(item["text"]), SAID_CHARS) for item in items]


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
    return one_line(template.format_map(_facts(event))).rstrip(" :,")


def _facts(event: Event) -> dict[str, Any]:
    facts: dict[str, Any] = event.payload
    if event.type == types.RUN_USAGE:
        cost = f"${Decimal(facts['cost_usd']):.4f}" if facts["cost_usd"] else "no price known"
        return facts | {"cached": facts["cache_read_tokens"], "cost": cost}
    if event.type == types.BATCH_BUDGET:
        return {"told": facts.get("reached") or f"spending limits changed: {facts['changed']}"}
    if event.type == types.RUN_DENIED:
        return facts | {"shown": "; ".join(facts["denials"][:3])}
    return facts
