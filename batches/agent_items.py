"""What an agent said, as lines for people and small records for programs."""

from dataclasses import asdict
from typing import Any

from batches.engines.events import (
    Denied,
    EngineEvent,
    FileChange,
    Limit,
    Message,
    Question,
    Session,
    ToolCall,
    ToolResult,
    Trouble,
)
from tasks.text import clip, printable, storable_json

ITEM_CHARS = 4000
LINE_CHARS = 500
Item = dict[str, Any]


def item_of(event: EngineEvent) -> Item | None:
    """None for what is told otherwise, or by what comes next."""
    line = _line(event)
    if line is None:
        return None
    limit = ITEM_CHARS if isinstance(event, Message | Question) else LINE_CHARS
    fields = {name: value for name, value in asdict(event).items() if value not in ("", None)}
    fields.pop("text", None)
    item: Item = storable_json({"kind": event.kind, "text": clip(printable(line), limit), **fields})
    return {
        name: clip(v, LINE_CHARS) if name != "text" and isinstance(v, str) else v
        for name, v in item.items()
    }


def plain_item(line: bytes) -> Item | None:
    """A line that is not the engine's own form: it may say what is wrong."""
    said = printable(line.decode("utf-8", "replace")).strip()
    return storable_json({"kind": "line", "text": clip(said, LINE_CHARS)}) if said else None


def _line(event: EngineEvent) -> str | None:
    if isinstance(event, ToolResult) and event.ok:
        return None
    form = _FORMS.get(type(event))
    return None if form is None else form.format(event).rstrip(" :")


_FORMS: dict[type, str] = {
    Message: "{0.text}",
    ToolCall: "{0.name}: {0.detail}",
    ToolResult: "failed: {0.text}",
    FileChange: "{0.change} {0.path}",
    Session: "session {0.session_id} {0.model}",
    Question: "asks: {0.text}",
    Denied: "not allowed: {0.tool} {0.detail}",
    Limit: "the provider asks to wait: {0.text}",
    Trouble: "error: {0.text}",
}
