"""What an agent did, item by item, as its engine told it: messages, tools, files, questions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.models import Event
from tasks.text import clip, compact_json, one_line, printable

TEXT_SHOWN = 8000
HEAD_SHOWN = 160
FOLDED = frozenset({"tool_call", "tool_result", "file_change", "line"})
"""Kinds that are shown as one line, with the rest behind it."""
WORDS = {"tool_call": "tool", "tool_result": "tool failed", "file_change": "file"}


@dataclass(frozen=True, kw_only=True)
class Item:
    """`head` is one line; `text` is the whole, empty where the line says it all."""

    at: datetime
    kind: str
    word: str
    head: str
    text: str
    more: str
    folded: bool


def items_of(events: Iterable[Event]) -> Iterator[Item]:
    """In the order of the events. A kind that nobody knows is shown plainly."""
    for event in events:
        found = event.payload.get("items") if isinstance(event.payload, dict) else None
        for item in found if isinstance(found, list) else []:
            if isinstance(item, dict):
                yield _item(event, item)


def _item(event: Event, item: dict[str, Any]) -> Item:
    kind = one_line(str(item.get("kind", "")))
    text = printable(str(item.get("text", "")))
    name = one_line(str(item.get("name") or item.get("path") or ""))
    said = one_line(text)
    head = clip(f"{name} {said}".strip() if name not in said else said, HEAD_SHOWN)
    rest = {k: v for k, v in item.items() if k not in ("kind", "text", "name", "path")}
    whole = clip(text, TEXT_SHOWN)
    return Item(
        at=event.created_at,
        kind=kind,
        word=WORDS.get(kind, kind.replace("_", " ")),
        head=head,
        text="" if kind in FOLDED and one_line(whole) == head else whole,
        more=clip(compact_json(rest), TEXT_SHOWN) if rest else "",
        folded=kind in FOLDED,
    )
