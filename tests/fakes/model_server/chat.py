"""OpenAI's Chat Completions: /v1/chat/completions."""

from tests.fakes.model_server.script import Turn, Usage
from tests.fakes.model_server.wire import Asked, Body, Ids, Protocol, arguments_text, event, halves
from tests.fakes.model_server.wire import runs as count_runs

STOPS = {"length": "length", "refusal": "content_filter"}


def read(path: str, body: Body, number: int) -> Asked:
    roles = [message.get("role") == "assistant" for message in body.get("messages", [])]
    return Asked(
        protocol="chat",
        body=body,
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        replies=count_runs(roles),
        has_tools=bool(body.get("tools")),
        number=number,
    )


def whole(asked: Asked, turn: Turn) -> Body:
    message: Body = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = _calls(asked, turn)
    choice = {"index": 0, "message": message, "finish_reason": _stop(turn)}
    head = _head(asked, "chat.completion")
    return head | {"choices": [choice], "usage": _usage(turn.usage)}


def stream(asked: Asked, turn: Turn) -> list[bytes]:
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": half} for half in halves(turn.text) if half]
    for place, call in enumerate(_calls(asked, turn)):
        first, *rest = halves(call["function"]["arguments"])
        function = {"name": call["function"]["name"], "arguments": first}
        deltas.append({"tool_calls": [{"index": place, **call, "function": function}]})
        deltas += [
            {"tool_calls": [{"index": place, "function": {"arguments": more}}]} for more in rest
        ]
    pieces = [event(_chunk(asked, delta, None)) for delta in deltas]
    pieces.append(event(_chunk(asked, {}, _stop(turn))))
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        head = _head(asked, "chat.completion.chunk")
        pieces.append(event(head | {"choices": [], "usage": _usage(turn.usage)}))
    return [*pieces, b"data: [DONE]\n\n"]


def _head(asked: Asked, kind: str) -> Body:
    name = Ids(asked.number).message("chatcmpl")
    return {"id": name, "object": kind, "created": 1_800_000_000, "model": asked.model}


def _chunk(asked: Asked, delta: Body, stop: str | None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    return _head(asked, "chat.completion.chunk") | {"choices": [choice]}


def _calls(asked: Asked, turn: Turn) -> list[Body]:
    return [
        {
            "id": Ids(asked.number).call("call", place),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call)},
        }
        for place, call in enumerate(turn.calls)
    ]


def _usage(usage: Usage) -> Body:
    """Here the input includes what a cache held; no count says what was written to one."""
    return {
        "prompt_tokens": usage.total_input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total_input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _stop(turn: Turn) -> str:
    return STOPS.get(turn.stop) or ("tool_calls" if turn.calls else "stop")


KINDS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def error(code: int, text: str) -> Body:
    kind = "invalid_request_error" if code < 500 else "server_error"
    return {"error": {"message": text, "type": kind, "param": None, "code": KINDS.get(code)}}


def error_piece() -> bytes:
    return event(error(529, "Overloaded"))


CHAT = Protocol("chat", read, stream, whole, error, error_piece)
