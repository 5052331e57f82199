"""One event as every interface shows it: the API, both streams, a terminal's JSON lines."""

import json
from datetime import datetime
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from tasks.models import Event

VERSION = 1
"""Raised when a key changes its meaning or goes; new keys may come at any time."""


class Envelope(TypedDict):
    v: int
    id: int
    seq: int
    type: str
    event_type: str
    workspace_id: str
    task_id: str | None
    batch_id: str | None
    run_id: str | None
    payload: dict[str, Any]
    created_at: str


"""`id` and `event_type` are what older programs call `seq` and `type`."""


class Line(NamedTuple):
    """An event made ready for sending, once for all clients; `text` is one line of JSON."""

    seq: int
    type: str
    task_id: UUID | None
    batch_id: UUID | None
    run_id: UUID | None
    created_at: datetime
    text: str


def event_object(event: Event) -> Envelope:
    return {
        "v": VERSION,
        "id": event.seq,
        "seq": event.seq,
        "type": event.type,
        "event_type": event.type,
        "workspace_id": str(event.workspace_id),
        "task_id": _text(event.task_id),
        "batch_id": _text(event.batch_id),
        "run_id": _text(event.run_id),
        "payload": event.payload,
        "created_at": event.created_at.isoformat(),
    }


def line_of(row: dict[str, Any]) -> Line:
    """`row["stored"]` is the payload's JSON as the database has it, put in without a detour."""
    stored = _one_line(str(row["stored"]))
    kind, seq = json.dumps(row["type"]), row["seq"]
    text = (
        f'{{"v":{VERSION},"id":{seq},"seq":{seq},"type":{kind},"event_type":{kind},'
        f'"workspace_id":"{row["workspace_id"]}","task_id":{_quoted(row["task_id"])},'
        f'"batch_id":{_quoted(row["batch_id"])},"run_id":{_quoted(row["run_id"])},'
        f'"payload":{stored},"created_at":"{row["created_at"].isoformat()}"}}'
    )
    ids = (row["task_id"], row["batch_id"], row["run_id"])
    return Line(seq, row["type"], *ids, row["created_at"], text)


def _one_line(stored: str) -> str:
    """A row written by hand may be laid out over lines, or be no JSON at all."""
    if stored.startswith("{") and "\n" not in stored and "\r" not in stored:
        return stored
    try:
        return json.dumps(json.loads(stored))
    except ValueError:
        return json.dumps({"unreadable": stored})


def _text(number: UUID | None) -> str | None:
    return str(number) if number else None


def _quoted(number: UUID | None) -> str:
    return f'"{number}"' if number else "null"
