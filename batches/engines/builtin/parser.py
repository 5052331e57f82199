"""The built-in agent's own output."""

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from batches.engines.events import (
    Denied,
    Ended,
    EngineEvent,
    FileChange,
    Limit,
    Message,
    Question,
    Session,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)
from batches.engines.fields import MOST_DOLLARS, Node, count, has_odd_count, raw, seconds, text
from batches.engines.parsing import RESULT_CHARS, Parser, detail_of, status_of
from costs.tokens import NAMES, Tokens

_CHANGES = {"created": "create", "edited": "edit"}
_SERVER = {"server_error", "cut", "malformed", "stalled", "unreachable"}


class BuiltinParser(Parser):
    """One usage line for each request, so nothing is left to settle at the end."""

    def on(self, line: Node) -> list[EngineEvent]:
        handler = {
            "session": self._session,
            "message": self._message,
            "tool_call": self._tool_call,
            "tool_result": self._tool_result,
            "file_change": self._file_change,
            "usage": self._usage,
            "question": self._question,
            "denied": self._denied,
            "limit": self._limit,
            "retry": self._error,
            "error": self._error,
            "end": self._end,
        }.get(text(line, "type"))
        return list(handler(line)) if handler else []

    def _session(self, line: Node) -> Iterator[EngineEvent]:
        self.model = text(line, "model") or self.model
        if session_id := text(line, "id"):
            yield Session(session_id=session_id, model=self.model)

    def _message(self, line: Node) -> Iterator[EngineEvent]:
        if text(line, "text").strip():
            yield Message(text=text(line, "text"))

    def _tool_call(self, line: Node) -> Iterator[EngineEvent]:
        name = text(line, "name")
        yield ToolCall(call_id=text(line, "id"), name=name, detail=_detail(text(line, "arguments")))

    def _tool_result(self, line: Node) -> Iterator[EngineEvent]:
        said = text(line, "text")[:RESULT_CHARS]
        yield ToolResult(call_id=text(line, "id"), ok=raw(line, "ok") is not False, text=said)

    def _file_change(self, line: Node) -> Iterator[EngineEvent]:
        if path := text(line, "path"):
            yield FileChange(path=path, change=_CHANGES.get(text(line, "change"), "edit"))

    def _usage(self, line: Node) -> Iterator[EngineEvent]:
        if call_id := text(line, "id"):
            yield Usage(
                call_id=call_id[:150],
                model=text(line, "model") or self.model,
                tokens=Tokens(**{name: count(line, name) for name in NAMES}),
                reported_usd=_dollars(text(line, "dollars")),
                estimated=raw(line, "estimated") is True or has_odd_count(line, *NAMES),
            )

    def _question(self, line: Node) -> Iterator[EngineEvent]:
        if text(line, "text").strip():
            yield Question(text=text(line, "text"))

    def _denied(self, line: Node) -> Iterator[EngineEvent]:
        yield Denied(tool=text(line, "name"), detail=_detail(text(line, "arguments")))

    def _limit(self, line: Node) -> Iterator[EngineEvent]:
        """The provider's; the agent's own are told by its last word."""
        if text(line, "kind") == "rate":
            yield Limit(
                text=text(line, "text"),
                retry_after_s=seconds(line, "retry_after_s"),
                resets_at=seconds(line, "resets_at"),
            )

    def _error(self, line: Node) -> Iterator[EngineEvent]:
        kind = text(line, "kind")
        yield Trouble(
            text=text(line, "text") or kind,
            status=status_of(count(line, "status")),
            server=kind in _SERVER,
            retry_after_s=seconds(line, "retry_after_s"),
        )

    def _end(self, line: Node) -> Iterator[EngineEvent]:
        self.known["reason"] = text(line, "reason")
        ok = raw(line, "ok") is True and self.known["reason"] == "done"
        yield Ended(ok=ok, text=text(line, "text") or self.known["reason"])


def _detail(arguments: str) -> str:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):  # shortened, or never valid
        return arguments[:RESULT_CHARS]
    return detail_of(value) if isinstance(value, dict) else arguments[:RESULT_CHARS]


def _dollars(told: str) -> Decimal | None:
    try:
        value = Decimal(told)
    except InvalidOperation:
        return None
    return value if value.is_finite() and 0 <= value <= MOST_DOLLARS else None
