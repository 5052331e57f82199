"""Anthropic's Messages, and whatever else speaks that protocol."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from batches.engines.builtin.conversation import (
    Answer,
    Call,
    Entry,
    Reply,
    Results,
    Stop,
    User,
)
from batches.engines.builtin.errors import ProviderError
from batches.engines.builtin.providers import Heard
from batches.engines.builtin.providers.broken import Broken
from batches.engines.builtin.providers.endpoint import Endpoint
from batches.engines.builtin.providers.stream import Event, Stream
from costs.tokens import Tokens, whole

VERSION = "2023-06-01"
STOPS: dict[str, Stop] = {
    "end_turn": "done",
    "stop_sequence": "done",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
CACHED = {"cache_control": {"type": "ephemeral"}}
NO_OUTPUT = "(no output)"
Block = dict[str, Any]


class Anthropic:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._stream = Stream(endpoint)

    def ask(
        self,
        *,
        system: str,
        entries: Sequence[Entry],
        tools: Sequence[dict[str, Any]],
        most_output: int,
        heard: Heard,
    ) -> Answer:
        body = {
            "model": self._endpoint.model,
            "max_tokens": most_output,
            "stream": True,
            "system": [{"type": "text", "text": system, **CACHED}],
            "tools": [_tool(tool) for tool in tools],
            "messages": messages(entries),
        }
        headers = {"anthropic-version": VERSION, "x-api-key": self._endpoint.key}
        draft = _Draft(model=self._endpoint.model)
        try:
            for event in self._stream.post("/v1/messages", body, headers):
                draft.take(event, heard)
            return draft.answer()
        except ProviderError as error:
            if draft.usage:
                raise draft.broken(error) from error
            raise


def messages(entries: Sequence[Entry]) -> list[Block]:
    """Alternating roles; the last block is where the cache may end."""
    said: list[Block] = []
    for entry in entries:
        role, blocks = _blocks(entry)
        if said and said[-1]["role"] == role:
            said[-1]["content"] += blocks
        else:
            said.append({"role": role, "content": blocks})
    if said and said[-1]["content"]:
        said[-1]["content"][-1] = said[-1]["content"][-1] | CACHED
    return said


def _blocks(entry: Entry) -> tuple[str, list[Block]]:
    if isinstance(entry, User):
        return "user", [{"type": "text", "text": entry.text.strip() or NO_OUTPUT}]
    if isinstance(entry, Results):
        return "user", [
            {
                "type": "tool_result",
                "tool_use_id": result.call_id,
                "content": result.text.strip() or NO_OUTPUT,
                **({} if result.ok else {"is_error": True}),
            }
            for result in entry.results
        ]
    return "assistant", [dict(block) for block in entry.native] or _plain(entry)


def _plain(reply: Reply) -> list[Block]:
    """Of a reply that was shortened, or came from another provider."""
    blocks: list[Block] = [{"type": "text", "text": reply.text}] if reply.text.strip() else []
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
        for call in reply.calls
    ]
    return blocks or [{"type": "text", "text": NO_OUTPUT}]


def _input(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid": arguments}


def _tool(tool: dict[str, Any]) -> Block:
    return {
        "name": tool["name"],
        "description": tool["description"],
        "input_schema": tool["parameters"],
    }


@dataclass
class _Draft:
    """An answer as it comes in."""

    model: str
    provider_id: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    blocks: dict[int, Block] = field(default_factory=dict)
    inputs: dict[int, str] = field(default_factory=dict)
    stop: str = ""
    ended: bool = False

    def take(self, event: Event, heard: Heard) -> None:
        kind = event.get("type")
        text = ""
        if kind == "message_start":
            self._start(_dict(event.get("message")))
        elif kind == "content_block_start":
            self.blocks[_index(event)] = dict(_dict(event.get("content_block")))
        elif kind == "content_block_delta":
            text = self._grow(_index(event), _dict(event.get("delta")))
        elif kind == "message_delta":
            self.stop = str(_dict(event.get("delta")).get("stop_reason") or self.stop)
            self._count(_dict(event.get("usage")))
        elif kind == "message_stop":
            self.ended = True
        elif kind == "error":
            raise _error(_dict(event.get("error")))
        heard(text)

    def _start(self, message: Event) -> None:
        self.provider_id = str(message.get("id") or "")
        self.model = str(message.get("model") or self.model)
        self._count(_dict(message.get("usage")))

    def _count(self, usage: Event) -> None:
        """Counts are of the whole answer so far, so the last one holds."""
        known = {name: whole(value) for name, value in usage.items() if name in _COUNTS}
        self.usage |= {name: value for name, value in known.items() if value is not None}

    def _grow(self, index: int, delta: Event) -> str:
        block = self.blocks.setdefault(index, {"type": "text", "text": ""})
        if delta.get("type") == "input_json_delta":
            piece = str(delta.get("partial_json") or "")
            self.inputs[index] = self.inputs.get(index, "") + piece
            return ""
        for name in ("text", "thinking", "signature"):
            if isinstance(delta.get(name), str):
                block[name] = str(block.get(name) or "") + delta[name]
        return str(delta.get("text") or "")

    def answer(self) -> Answer:
        """Raises ProviderError."""
        if not self.ended and not self.stop:
            raise ProviderError("cut", "The provider's answer ended before its end.")
        blocks = [self._whole(index) for index in sorted(self.blocks)]
        calls = tuple(
            Call(str(block.get("id")), str(block.get("name")), self._arguments(index))
            for index, block in sorted(self.blocks.items())
            if block.get("type") == "tool_use"
        )
        text = "\n\n".join(str(b["text"]) for b in blocks if b.get("type") == "text" and b["text"])
        return Answer(
            reply=Reply(text, calls, tuple(block for block in blocks if not _is_empty(block))),
            stop="calls" if calls else STOPS.get(self.stop, "done"),
            tokens=self._tokens(),
            model=self.model,
            provider_id=self.provider_id,
            estimated=not self.usage,
        )

    def _arguments(self, index: int) -> str:
        return self.inputs.get(index) or json.dumps(self.blocks[index].get("input") or {})

    def _whole(self, index: int) -> Block:
        block = self.blocks[index]
        if block.get("type") == "tool_use":
            return block | {"input": _input(self._arguments(index))}
        return block

    def broken(self, error: ProviderError) -> Broken:
        found = self._tokens()
        return Broken(error, tokens=found, model=self.model, provider_id=self.provider_id)

    def _tokens(self) -> Tokens:
        return Tokens(**{ours: self.usage.get(theirs, 0) for theirs, ours in _COUNTS.items()})


_COUNTS = {
    "input_tokens": "input",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
    "output_tokens": "output",
}


def _error(detail: Event) -> ProviderError:
    kind = detail.get("type")
    text = str(detail.get("message") or kind or "error")
    if kind == "rate_limit_error":
        return ProviderError("rate_limited", text)
    if kind in ("authentication_error", "permission_error"):
        return ProviderError("auth", text)
    if kind == "invalid_request_error":
        return ProviderError("bad_request", text)
    return ProviderError("server_error", text)


def _is_empty(block: Block) -> bool:
    """An empty text is sent now and then, and refused when it comes back."""
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _dict(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def _index(event: Event) -> int:
    return whole(event.get("index")) or 0
