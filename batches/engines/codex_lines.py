"""The output of `codex exec --json`."""

import re
from collections.abc import Iterator

from batches.engines.events import (
    Denied,
    Ended,
    EngineEvent,
    FileChange,
    Message,
    Question,
    Session,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)
from batches.engines.fields import Node, count, has_odd_count, node, nodes, parse_object, raw, text
from batches.engines.parsing import (
    RESULT_CHARS,
    Parser,
    State,
    detail_of,
    questions_in,
    status_of,
)
from batches.engines.usage_lines import since
from costs.tokens import from_json, of_totals

_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
_TRIES_AGAIN = re.compile(r"Reconnecting\.\.\. \d+/\d+")
_USED_UP = "usage limit"
_COUNTS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)


class CodexParser(Parser):
    """Known: the `thread`, and the `total` of its counters, which go on from run to run."""

    def on(self, line: Node) -> list[EngineEvent]:
        handler = {
            "thread.started": self._thread,
            "turn.completed": self._turn_completed,
            "turn.failed": self._turn_failed,
            "error": self._error,
            "item.started": self._item_started,
            "item.completed": self._item_completed,
        }.get(text(line, "type"))
        return list(handler(line)) if handler else []

    def finish(self) -> list[EngineEvent]:
        return [self.untold()] if self.known.get("asked") else []

    def carried(self) -> State:
        return {name: self.known[name] for name in ("thread", "total") if name in self.known}

    def _thread(self, line: Node) -> Iterator[EngineEvent]:
        thread = text(line, "thread_id")
        if thread != self.known.get("thread"):
            self.known |= {"thread": thread, "total": {}}
        yield Session(session_id=thread, model=self.model)

    def _turn_completed(self, line: Node) -> Iterator[EngineEvent]:
        told = node(line, "usage")
        total = of_totals(
            total_input=count(told, "input_tokens"),
            cached=count(told, "cached_input_tokens"),
            written=count(told, "cache_write_input_tokens"),
            output=count(told, "output_tokens"),
            reasoning=count(told, "reasoning_output_tokens"),
        )
        tokens = since(from_json(self.known.get("total")), total)
        self.known |= {"total": total.as_json(), "asked": False}
        yield Usage(
            call_id=f"turn:{text(line, 'turn_id') or sum(total.as_json().values())}",
            model=self.model,
            tokens=tokens,
            estimated=has_odd_count(told, *_COUNTS),
        )
        yield Ended(ok=True, text=self.known.get("last", ""))

    def _turn_failed(self, line: Node) -> Iterator[EngineEvent]:
        said = text(line, "error", "message")
        # It tries again only where that can help, so a failure after tries is the provider's.
        yield _trouble(said, server=bool(self.known.get("tried")))
        yield Ended(ok=False, text=said)

    def _error(self, line: Node) -> Iterator[EngineEvent]:
        said = text(line, "message")
        tries = bool(_TRIES_AGAIN.match(said))
        self.known["tried"] = tries or self.known.get("tried", False)
        yield _trouble(said, server=tries)

    def _item_started(self, line: Node) -> Iterator[EngineEvent]:
        self.known["asked"] = True
        item = node(line, "item")
        kind = text(item, "type")
        if kind in ("command_execution", "mcp_tool_call", "web_search"):
            name = text(item, "tool") or kind.removesuffix("_execution")
            detail = (
                detail_of(item) if kind != "mcp_tool_call" else detail_of(node(item, "arguments"))
            )
            yield ToolCall(call_id=text(item, "id"), name=name, detail=detail)

    def _item_completed(self, line: Node) -> Iterator[EngineEvent]:
        item = node(line, "item")
        kind, item_id = text(item, "type"), text(item, "id")
        ok = text(item, "status") == "completed"
        if kind == "error":
            yield Trouble(text=text(item, "message"))
            return
        self.known["asked"] = True
        if kind == "agent_message" and (said := text(item, "text")):
            self.known["last"] = said[:RESULT_CHARS]
            yield Message(text=said)
        elif kind == "command_execution":
            if text(item, "status") == "declined":
                yield Denied(tool="command", detail=text(item, "command"))
            said = text(item, "aggregated_output")[-RESULT_CHARS:]
            yield ToolResult(call_id=item_id, ok=ok and not count(item, "exit_code"), text=said)
        elif kind == "file_change" and ok:
            for change in nodes(item, "changes"):
                yield FileChange(path=text(change, "path"), change=text(change, "kind") or "edit")
        elif kind == "mcp_tool_call":
            yield ToolResult(call_id=item_id, ok=ok and raw(item, "error") is None)
        elif kind == "request_user_input" and (asked := questions_in(item)):
            yield Question(text=asked)


def _trouble(said: str, *, server: bool) -> Trouble:
    """The provider's own body where the message is that, else the status that it names."""
    body = node(parse_object(said.encode()) or {}, "error")
    if body:
        status = status_of(count(body, "code")) or _OF_TYPE.get(text(body, "type"), 400)
        return Trouble(text=text(body, "message") or said, status=status)
    named = _STATUS.search(said)
    if named:
        return Trouble(text=said, status=status_of(int(named[1])), server=server)
    if _USED_UP in said.lower():
        return Trouble(text=said, status=429)
    return Trouble(text=said, server=server)


_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "server_error": 500,
}
