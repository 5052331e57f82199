"""What all parsers of agents' output share: lines in, events out, and a state that can be kept."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from batches.engines.events import EngineEvent, Usage
from batches.engines.fields import Node, clean, nodes, parse_object, text

State = dict[str, Any]
DETAIL_CHARS = 300
RESULT_CHARS = 500
_TELLING = ("command", "file_path", "filePath", "path", "pattern", "url", "query", "description")
UNTOLD = "the agent did not tell what it used"


class Parser:
    """For one run. `state`, as JSON, is enough for another process to go on behind the same line.

    Subclasses keep all they know in `self.known`.
    """

    def __init__(self, *, model: str = "", state: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.known: State = dict(state or {})

    def read(self, line: bytes, at: int = 0) -> Sequence[EngineEvent] | None:
        """None for a line that is not the engine's; `at` is where it starts in the stream."""
        found = parse_object(line)
        return None if found is None else self.on(found)

    def on(self, line: Node) -> Sequence[EngineEvent]:
        raise NotImplementedError

    def gap(self) -> None:
        """Lines are missing here."""
        self.known["gap"] = True

    def finish(self) -> Sequence[EngineEvent]:
        """When the agent has ended: what is known by then and was not told."""
        return ()

    def carried(self) -> State:
        """Of the state, what the next run of the same session needs."""
        return {}

    def untold(self) -> Usage:
        """Unknown is not nothing."""
        return Usage(call_id="untold", model=self.model, estimated=True, note=UNTOLD)


def detail_of(arguments: Node) -> str:
    """A tool's arguments in a few words."""
    for name in _TELLING:
        if told := text(arguments, name):
            return told[:DETAIL_CHARS]
    return clean(json.dumps(arguments, ensure_ascii=False))[:DETAIL_CHARS] if arguments else ""


def questions_in(arguments: Node) -> str:
    """Of a tool for questions: each with its choices."""
    asked = [_question(item) for item in nodes(arguments, "questions")] or [_question(arguments)]
    return "\n\n".join(filter(None, asked))


def _question(item: Node) -> str:
    choices = [text(choice, "label") for choice in nodes(item, "options")]
    lines = [text(item, "question") or text(item, "prompt")]
    lines += [f"- {choice}" for choice in choices if choice]
    return "\n".join(lines) if lines[0] else ""


def status_of(value: int) -> int | None:
    return value if 100 <= value <= 599 else None
