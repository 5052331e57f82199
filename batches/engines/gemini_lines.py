"""Gemini CLI's `stream-json` output."""

import re
from collections.abc import Iterator

from batches.engines.events import (
    Denied,
    Ended,
    EngineEvent,
    FileChange,
    Message,
    Session,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)
from batches.engines.fields import Node, count, has_odd_count, node, parse_object, raw, text
from batches.engines.parsing import RESULT_CHARS, Parser, detail_of, status_of
from costs.tokens import of_totals, whole

WRITERS = ("write_file", "replace")
PIECES_CHARS = 8000
CALLS_KEPT = 20
_API_ERROR = re.compile(r"\[API Error: (.*)\]\s*$", re.DOTALL)
_REFUSALS = ("policy_violation", "permission_denied", "tool_not_allowed", "execution_denied")


class GeminiParser(Parser):
    """Known: the `said` pieces of a message, which come word by word, and `writing` calls."""

    def on(self, line: Node) -> list[EngineEvent]:
        if text(line, "type") == "message":
            return list(self._message(line))
        handler = {
            "init": self._init,
            "tool_use": self._tool_use,
            "tool_result": self._tool_result,
            "error": self._error,
            "result": self._result,
        }.get(text(line, "type"))
        return [*self._whole_message(), *handler(line)] if handler else []

    def finish(self) -> list[EngineEvent]:
        told = list(self._whole_message())
        return told + ([self.untold()] if self.known.get("asked") else [])

    def _message(self, line: Node) -> Iterator[EngineEvent]:
        if text(line, "role") != "assistant":
            return
        self.known["asked"] = True
        if raw(line, "delta") is not True:
            yield from self._whole_message()
        self.known["said"] = (self.known.get("said", "") + text(line, "content"))[:PIECES_CHARS]

    def _whole_message(self) -> Iterator[EngineEvent]:
        said = self.known.pop("said", "")
        if said.strip():
            self.known["last"] = said[:RESULT_CHARS]
            yield Message(text=said)

    def _init(self, line: Node) -> Iterator[EngineEvent]:
        self.model = text(line, "model") or self.model
        yield Session(session_id=text(line, "session_id"), model=self.model)

    def _tool_use(self, line: Node) -> Iterator[EngineEvent]:
        self.known["asked"] = True
        name, call_id, arguments = (
            text(line, "tool_name"),
            text(line, "tool_id"),
            node(line, "parameters"),
        )
        path = text(arguments, "file_path")
        if name in WRITERS and path:
            writing = [*self.known.get("writing", []), [call_id, name, path]]
            self.known["writing"] = writing[-CALLS_KEPT:]
        yield ToolCall(call_id=call_id, name=name, detail=detail_of(arguments))

    def _tool_result(self, line: Node) -> Iterator[EngineEvent]:
        call_id, ok = text(line, "tool_id"), text(line, "status") == "success"
        said = text(line, "output") or text(line, "error", "message")
        yield ToolResult(call_id=call_id, ok=ok, text=said[:RESULT_CHARS])
        if text(line, "error", "type") in _REFUSALS:
            yield Denied(tool=call_id.partition("__")[0], detail=said[:RESULT_CHARS])
        for known_id, name, path in self.known.get("writing", []) if ok else []:
            if known_id == call_id:
                yield FileChange(path=path, change="write" if name == "write_file" else "edit")

    def _error(self, line: Node) -> Iterator[EngineEvent]:
        yield Trouble(text=text(line, "message"))

    def _result(self, line: Node) -> Iterator[EngineEvent]:
        self.known["asked"] = False
        stats = node(line, "stats")
        models = node(stats, "models")
        for name in models or ([self.model] if stats else []):
            told = node(models, name) or stats
            if usage := _usage(name, told):
                yield usage
        if text(line, "status") == "success":
            yield Ended(ok=True, text=self.known.get("last", ""))
            return
        said = text(line, "error", "message")
        yield _trouble(said)
        yield Ended(ok=False, text=said)


def _usage(model: str, told: Node) -> Usage | None:
    asked, output = count(told, "input_tokens"), count(told, "output_tokens")
    thought = _thought(told)
    tokens = of_totals(
        total_input=asked,
        cached=count(told, "cached"),
        output=output + thought,
        reasoning=thought,
    )
    odd = has_odd_count(told, "input_tokens", "output_tokens", "cached", "total_tokens")
    if not tokens and not odd:
        return None
    return Usage(call_id=f"result:{model}"[:200], model=model, tokens=tokens, estimated=odd)


def _thought(told: Node) -> int:
    """Paid for as output, and in no count but the total."""
    total, asked, output = (whole(told.get(f"{n}_tokens")) for n in ("total", "input", "output"))
    if total is None or asked is None or output is None:
        return 0
    return max(0, total - asked - output)


def _trouble(said: str) -> Trouble:
    """Its message wraps the provider's answer; without one the connection broke."""
    wrapped = _API_ERROR.search(said)
    if wrapped is None:
        return Trouble(text=said)
    error = node(parse_object(wrapped[1].encode()) or {}, "error")
    if not error:
        return Trouble(text=said, server=True)
    return Trouble(text=text(error, "message") or said, status=status_of(count(error, "code")))
