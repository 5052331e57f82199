"""Anthropic's Messages: /v1/messages."""

import json
from typing import Any

from tests.fakes.model_server.script import Turn, Usage
from tests.fakes.model_server.wire import Asked, Body, Ids, Protocol, arguments_text, event, halves
from tests.fakes.model_server.wire import runs as count_runs

STOPS = {"length": "max_tokens", "refusal": "refusal"}


def read(path: str, body: Body, number: int) -> Asked:
    roles = [message.get("role") == "assistant" for message in body.get("messages", [])]
    return Asked(
        protocol="messages",
        body=body,
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        replies=count_runs(roles),
        has_tools=bool(body.get("tools")),
        number=number,
    )


def whole(asked: Asked, turn: Turn) -> Body:
    return _head(asked) | {
        "content": _blocks(asked, turn),
        "stop_reason": _stop(turn),
        "usage": _usage(turn.usage),
    }


def stream(asked: Asked, turn: Turn) -> list[bytes]:
    start = {"type": "message_start", "message": _head(asked) | {"usage": _first(turn.usage)}}
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": _stop(turn), "stop_sequence": None},
        "usage": _usage(turn.usage),
    }
    return [
        event(start, "message_start"),
        event({"type": "ping"}, "ping"),
        *_block_events(asked, turn),
        event(end, "message_delta"),
        event({"type": "message_stop"}, "message_stop"),
    ]


def _head(asked: Asked) -> Body:
    return {
        "id": Ids(asked.number).message("msg"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(asked: Asked, turn: Turn) -> list[Body]:
    blocks: list[Body] = []
    if turn.thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": "c2lnbmVk"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for place, call in enumerate(turn.calls):
        arguments: Any = call.arguments
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        name = Ids(asked.number).call("toolu", place)
        blocks.append({"type": "tool_use", "id": name, "name": call.name, "input": dict(arguments)})
    return blocks


def _block_events(asked: Asked, turn: Turn) -> list[bytes]:
    parts: list[tuple[Body, list[Body]]] = []
    if turn.thinking:
        deltas: list[Body] = [{"type": "thinking_delta", "thinking": turn.thinking}]
        deltas.append({"type": "signature_delta", "signature": "c2lnbmVk"})
        parts.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if turn.text:
        deltas = [{"type": "text_delta", "text": half} for half in halves(turn.text)]
        parts.append(({"type": "text", "text": ""}, deltas))
    for place, call in enumerate(turn.calls):
        name = Ids(asked.number).call("toolu", place)
        block = {"type": "tool_use", "id": name, "name": call.name, "input": {}}
        pieces = halves(arguments_text(call))
        parts.append(
            (block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
        )
    return [piece for index, part in enumerate(parts) for piece in _one_block(index, *part)]


def _one_block(index: int, block: Body, deltas: list[Body]) -> list[bytes]:
    at = {"index": index}
    return [
        event({"type": "content_block_start", **at, "content_block": block}, "content_block_start"),
        *(
            event({"type": "content_block_delta", **at, "delta": delta}, "content_block_delta")
            for delta in deltas
        ),
        event({"type": "content_block_stop", **at}, "content_block_stop"),
    ]


def _usage(usage: Usage) -> Body:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _first(usage: Usage) -> Body:
    """At the start of a stream only the input is known."""
    return _usage(usage) | {"output_tokens": 1}


def _stop(turn: Turn) -> str:
    return STOPS.get(turn.stop) or ("tool_use" if turn.calls else "end_turn")


KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error(code: int, text: str) -> Body:
    return {"type": "error", "error": {"type": KINDS.get(code, "api_error"), "message": text}}


def error_piece() -> bytes:
    return event(error(529, "Overloaded"), "error")


MESSAGES = Protocol("messages", read, stream, whole, error, error_piece)
