"""The output of `opencode run --format json`."""

from collections.abc import Iterator

from batches.engines.events import (
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
from batches.engines.fields import Node, count, dollars, has_odd_count, node, raw, seconds, text
from batches.engines.parsing import RESULT_CHARS, Parser, detail_of, questions_in, status_of
from costs.tokens import Tokens

WRITERS = ("write", "edit", "patch", "multiedit")
GOES_ON = "tool-calls"


class OpencodeParser(Parser):
    """Known: whether a step is `open`, whose call then was not told."""

    def on(self, line: Node) -> list[EngineEvent]:
        told: list[EngineEvent] = []
        session_id = text(line, "sessionID")
        if session_id and session_id != self.known.get("session"):
            self.known["session"] = session_id
            told.append(Session(session_id=session_id, model=self.model))
        handler = {
            "step_start": self._step_start,
            "text": self._text,
            "tool_use": self._tool,
            "step_finish": self._step_finish,
            "error": self._error,
        }.get(text(line, "type"))
        return [*told, *handler(line)] if handler else told

    def finish(self) -> list[EngineEvent]:
        """Steps are summed, so of missing lines the sum knows nothing."""
        return [self.untold()] if self.known.get("open") or self.known.get("gap") else []

    def _step_start(self, line: Node) -> Iterator[EngineEvent]:
        self.known["open"] = True
        yield from ()

    def _text(self, line: Node) -> Iterator[EngineEvent]:
        said = text(line, "part", "text")
        if said.strip():
            self.known["last"] = said[:RESULT_CHARS]
            yield Message(text=said)

    def _tool(self, line: Node) -> Iterator[EngineEvent]:
        part = node(line, "part")
        state, call_id, name = node(part, "state"), text(part, "callID"), text(part, "tool")
        arguments = node(state, "input")
        yield ToolCall(call_id=call_id, name=name, detail=detail_of(arguments))
        if name == "question" and (asked := questions_in(arguments)):
            yield Question(text=asked)
        ok = text(state, "status") == "completed"
        said = text(state, "output") or text(state, "error")
        yield ToolResult(call_id=call_id, ok=ok, text=said[:RESULT_CHARS])
        path = text(state, "metadata", "filepath") or text(arguments, "filePath")
        if ok and path and name in WRITERS:
            created = raw(state, "metadata", "exists") is False
            yield FileChange(path=path, change="create" if created else "edit")

    def _step_finish(self, line: Node) -> Iterator[EngineEvent]:
        part = node(line, "part")
        self.known["open"] = False
        yield self._usage(part)
        reason = text(part, "reason")
        if reason == "stop":
            yield Ended(ok=True, text=self.known.get("last", ""))
        elif reason != GOES_ON:
            yield Ended(ok=False, text=f"the model stopped: {reason or 'unknown'}")

    def _usage(self, part: Node) -> Usage:
        told = node(part, "tokens")
        output, reasoning = count(told, "output"), count(told, "reasoning")
        read, written = count(told, "cache", "read"), count(told, "cache", "write")
        known = count(told, "input") + read + written + output
        # Whether the output has the reasoning in it, only the total tells.
        apart = count(told, "total") == known + reasoning
        cost = dollars(part, "cost")
        return Usage(
            call_id=text(part, "id")[:150] or text(part, "messageID")[:150],
            model=self.model.partition("/")[2] or self.model,
            tokens=Tokens(
                input=count(told, "input"),
                cache_read=read,
                cache_write=written,
                output=output + reasoning if apart else output,
                reasoning=reasoning,
            ),
            # It says 0 too where it knows no price.
            reported_usd=cost or None,
            estimated=has_odd_count(told, "input", "output", "reasoning"),
        )

    def _error(self, line: Node) -> Iterator[EngineEvent]:
        error = node(line, "error")
        data = node(error, "data")
        said = text(data, "message") or text(error, "message") or text(error, "name")
        yield Trouble(
            text=said,
            status=status_of(count(data, "statusCode")),
            server=raw(data, "isRetryable") is True,
            retry_after_s=seconds(data, "responseHeaders", "retry-after"),
        )
        yield Ended(ok=False, text=said)
