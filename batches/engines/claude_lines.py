"""Claude Code's `stream-json` output."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

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
from batches.engines.fields import (
    Node,
    count,
    dollars,
    has_odd_count,
    node,
    nodes,
    raw,
    seconds,
    text,
    texts,
)
from batches.engines.parsing import RESULT_CHARS, Parser, detail_of, questions_in, status_of
from costs.tokens import Tokens, from_json

ASK = "AskUserQuestion"
SYNTHETIC = "<synthetic>"
IDS_KEPT = 64
HIDDEN = "calls that the agent did not show"
CUT = "a call that was cut short"
_COUNTS = {
    "input": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}
_TOTALS = {
    "input": "inputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "output": "outputTokens",
}


class ClaudeParser(Parser):
    """Calls are told by their message; the result's totals settle what those did not show.

    Known: `open` messages whose stream is under way, by the call that made them; `cut` ones that
    never ended; `seen` ids that were told; `told` tokens and `paid` dollars by model.
    """

    def on(self, line: Node) -> list[EngineEvent]:
        told = list(self._session(line))
        handler = {
            "system": self._system,
            "stream_event": self._stream,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "rate_limit_event": self._rate_limit,
        }.get(text(line, "type"))
        return [*told, *handler(line)] if handler else told

    def finish(self) -> list[EngineEvent]:
        """Without a result: what was asked and never answered whole was still paid for."""
        if self.known.get("settled"):
            return []
        left = [*self.known.get("cut", []), *self.known.get("open", {}).values()]
        self.known |= {"cut": [], "open": {}}
        return [self._tell(note, estimated=True, why=CUT) for note in left]

    # -- lines -----------------------------------------------------------------------------------

    def _session(self, line: Node) -> Iterator[EngineEvent]:
        session_id = text(line, "session_id")
        if session_id and session_id != self.known.get("session"):
            self.known["session"] = session_id
            self.model = text(line, "model") or self.model
            yield Session(session_id=session_id, model=self.model)

    def _system(self, line: Node) -> Iterator[EngineEvent]:
        if text(line, "subtype") != "api_retry":
            return
        status = status_of(count(line, "error_status"))
        why = text(line, "error") or "the provider did not answer"
        delay = seconds(line, "retry_delay_ms")
        wait = delay / 1000 if delay else None
        if status == 429:
            yield Limit(text=why, retry_after_s=wait)
        else:
            yield Trouble(text=why, status=status, server=status is None, retry_after_s=wait)

    def _rate_limit(self, line: Node) -> Iterator[EngineEvent]:
        told = node(line, "rate_limit_info")
        if text(told, "status") == "rejected":
            yield Limit(
                text=text(told, "rateLimitType") or "usage limit",
                resets_at=seconds(told, "resetsAt"),
            )

    def _stream(self, line: Node) -> Iterator[EngineEvent]:
        event, by = node(line, "event"), text(line, "parent_tool_use_id")
        opened: dict[str, Node] = self.known.setdefault("open", {})
        kind = text(event, "type")
        if kind == "message_start":
            if by in opened:
                self.known.setdefault("cut", []).append(opened.pop(by))
            message = node(event, "message")
            opened[by] = _note(message, node(message, "usage"), self.model)
        elif kind == "message_delta" and by in opened:
            stopped = bool(text(event, "delta", "stop_reason"))
            opened[by] = {**_grown(opened[by], node(event, "usage")), "stopped": stopped}
        elif kind == "message_stop" and by in opened:
            note = opened.pop(by)
            if note.get("stopped"):
                yield self._tell(note)
            else:  # given up, and perhaps asked again
                self.known.setdefault("cut", []).append(note)

    def _assistant(self, line: Node) -> Iterator[EngineEvent]:
        message = node(line, "message")
        if text(message, "model") == SYNTHETIC:
            yield from _failure(line, message)
            return
        for block in nodes(message, "content"):
            yield from _said(block)
        if self._is_new(text(message, "id")):
            # A message that was not streamed is told whole; of others only the beginning.
            whole = bool(text(message, "stop_reason"))
            note = _note(message, node(message, "usage"), self.model)
            yield self._tell(note, estimated=not whole)

    def _user(self, line: Node) -> Iterator[EngineEvent]:
        for block in nodes(line, "message", "content"):
            if text(block, "type") != "tool_result":
                continue
            ok = raw(block, "is_error") is not True
            yield ToolResult(call_id=text(block, "tool_use_id"), ok=ok, text=_result_text(block))
            path = text(line, "tool_use_result", "filePath")
            if ok and path and text(line, "tool_use_result", "type") != "text":
                created = text(line, "tool_use_result", "type") == "create"
                yield FileChange(path=path, change="create" if created else "edit")

    def _result(self, line: Node) -> Iterator[EngineEvent]:
        yield from self._settle(line)
        for denial in nodes(line, "permission_denials"):
            yield from _denied(denial)
        said = text(line, "result") or "; ".join(texts(line, "errors"))
        subtype = text(line, "subtype")
        if raw(line, "is_error") is True or subtype != "success":
            status = status_of(count(line, "api_error_status"))
            if status:
                yield Trouble(text=said, status=status)
            yield Ended(ok=False, text=said or subtype.replace("_", " "))
        else:
            yield Ended(ok=True, text=said)

    # -- tokens ----------------------------------------------------------------------------------

    def _is_new(self, call_id: str) -> bool:
        opened = self.known.get("open", {}).values()
        waiting = [note["id"] for note in (*opened, *self.known.get("cut", []))]
        return (
            bool(call_id) and call_id not in self.known.get("seen", []) and call_id not in waiting
        )

    def _tell(self, note: Node, *, estimated: bool = False, why: str = "") -> Usage:
        tokens, model = from_json(note["tokens"]), text(note, "model")
        self.known["seen"] = [*self.known.get("seen", []), note["id"]][-IDS_KEPT:]
        told = self.known.setdefault("told", {})
        told[model] = from_json(told.get(model)).plus(tokens).as_json()
        return Usage(
            call_id=text(note, "id"),
            model=model,
            tokens=tokens,
            estimated=estimated or bool(note.get("odd")),
            note=why,
        )

    def _settle(self, line: Node) -> Iterator[EngineEvent]:
        """Against the result's totals, which count everything since the program began."""
        models = node(line, "modelUsage")
        totals = {name: _counts(node(models, name), _TOTALS) for name in models}
        if not totals and self.model:
            totals = {self.model: _counts(node(line, "usage"), _COUNTS)}
        if not any(totals.values()):
            return
        told = {name: from_json(note) for name, note in self.known.get("told", {}).items()}
        pool = sum_of(told[name] for name in told if not _among(name, totals))
        turn = self.known["settled"] = self.known.get("settled", 0) + 1
        paid = self.known.setdefault("paid", {})
        for model, total in totals.items():
            ours = sum_of(tokens for name, tokens in told.items() if _same(name, model))
            missing = total.minus(ours)
            missing, pool = missing.minus(pool), pool.minus(missing)
            self._add_told(model, told, missing)
            cost = dollars(models, model, "costUSD")
            reported = max(Decimal(0), cost - Decimal(paid.get(model, "0"))) if cost else cost
            paid[model] = str(cost or paid.get(model, "0"))
            if not missing and not reported and not ours:
                continue
            yield Usage(
                call_id=f"settled:{turn}:{model}"[:200],
                model=model,
                tokens=missing,
                reported_usd=reported,
                settles=True,
                calls=int(bool(missing) and not ours),
                note=HIDDEN if missing else "",
            )
        self.known |= {"cut": []}

    def _add_told(self, model: str, told: Mapping[str, Tokens], missing: Tokens) -> None:
        name = next((name for name in told if _same(name, model)), model)
        notes = self.known.setdefault("told", {})
        notes[name] = from_json(notes.get(name)).plus(missing).as_json()


def sum_of(parts: "Iterator[Tokens]") -> Tokens:
    total = Tokens()
    for tokens in parts:
        total = total.plus(tokens)
    return total


def _note(message: Node, usage: Node, model: str) -> Node:
    return {
        "id": text(message, "id")[:150],
        "model": text(message, "model") or model,
        "tokens": _counts(usage, _COUNTS).as_json(),
        "odd": has_odd_count(usage, *_COUNTS.values()),
    }


def _grown(note: Node, usage: Node) -> Node:
    """A delta's counts are of the message so far; what it leaves out stays."""
    before, now = from_json(note["tokens"]), _counts(usage, _COUNTS)
    tokens = Tokens(
        input=now.input or before.input,
        cache_read=now.cache_read or before.cache_read,
        cache_write=now.cache_write or before.cache_write,
        output=max(now.output, before.output),
    )
    odd = note.get("odd") or has_odd_count(usage, *_COUNTS.values())
    return {**note, "tokens": tokens.as_json(), "odd": odd}


def _counts(told: Node, names: Mapping[str, str]) -> Tokens:
    return Tokens(**{ours: count(told, theirs) for ours, theirs in names.items()})


def _said(block: Node) -> Iterator[EngineEvent]:
    kind = text(block, "type")
    if kind == "text" and text(block, "text").strip():
        yield Message(text=text(block, "text"))
    elif kind == "tool_use":
        arguments = node(block, "input")
        name = text(block, "name")
        yield ToolCall(call_id=text(block, "id"), name=name, detail=detail_of(arguments))
        if name == ASK and (asked := questions_in(arguments)):
            yield Question(text=asked)


def _failure(line: Node, message: Node) -> Iterator[EngineEvent]:
    """Its own words in the model's place."""
    said = " ".join(text(block, "text") for block in nodes(message, "content"))
    name = text(line, "error")
    if name:
        yield Trouble(text=said, status=_ERRORS.get(name), server=name == "server_error")
    elif said.strip():
        yield Message(text=said)


_ERRORS = {
    "authentication_failed": 401,
    "billing_error": 402,
    "rate_limit": 429,
    "invalid_request": 400,
}


def _denied(denial: Node) -> Iterator[EngineEvent]:
    tool, arguments = text(denial, "tool_name"), node(denial, "tool_input")
    if tool != ASK:
        yield Denied(tool=tool, detail=detail_of(arguments))
    elif asked := questions_in(arguments):
        yield Question(text=asked)


def _result_text(block: Node) -> str:
    said = text(block, "content") or " ".join(
        text(part, "text") for part in nodes(block, "content")
    )
    return said[:RESULT_CHARS]


def _among(name: str, models: Mapping[str, Tokens]) -> bool:
    return any(_same(name, model) for model in models)


def _same(one: str, other: str) -> bool:
    """A model by its name, and by the name of the day that it stands for."""
    return _plain(one) == _plain(other)


def _plain(model: str) -> str:
    return re.sub(r"(-\d{8}|\[[^\]]*\])+$", "", model.lower())
