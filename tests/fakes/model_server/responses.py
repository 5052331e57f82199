"""OpenAI's Responses: /v1/responses."""

from tests.fakes.model_server.script import Turn, Usage
from tests.fakes.model_server.wire import Asked, Body, Ids, Protocol, arguments_text, event, halves
from tests.fakes.model_server.wire import runs as count_runs

OWN_ITEMS = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}


def read(path: str, body: Body, number: int) -> Asked:
    items = body.get("input", [])
    items = items if isinstance(items, list) else []
    return Asked(
        protocol="responses",
        body=body,
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        replies=count_runs([_is_own(item) for item in items]),
        has_tools=bool(body.get("tools")),
        number=number,
    )


def _is_own(item: Body) -> bool:
    return item.get("role") == "assistant" or item.get("type") in OWN_ITEMS


def whole(asked: Asked, turn: Turn) -> Body:
    incomplete = {"reason": "max_output_tokens"} if turn.stop == "length" else None
    return {
        "id": Ids(asked.number).message("resp"),
        "object": "response",
        "created_at": 1_800_000_000,
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": incomplete,
        "error": None,
        "model": asked.model,
        "output": _items(asked, turn),
        "usage": _usage(turn.usage),
    }


def stream(asked: Asked, turn: Turn) -> list[bytes]:
    done = whole(asked, turn)
    begun = done | {"status": "in_progress", "output": [], "usage": None}
    events: list[Body] = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(done["output"]):
        events += _item_events(place, item)
    kind = "response.incomplete" if turn.stop == "length" else "response.completed"
    events.append({"type": kind, "response": done})
    return [
        event(one | {"sequence_number": number}, one["type"]) for number, one in enumerate(events)
    ]


def _item_events(place: int, item: Body) -> list[Body]:
    at: Body = {"output_index": place, "item_id": item["id"]}
    empty = item | ({"content": []} if item["type"] == "message" else {"arguments": ""})
    empty["status"] = "in_progress"
    if item["type"] == "message":
        kind, text = "response.output_text.delta", item["content"][0]["text"]
        at["content_index"] = 0
    else:
        kind, text = "response.function_call_arguments.delta", item["arguments"]
    return [
        {"type": "response.output_item.added", "output_index": place, "item": empty},
        *({"type": kind, **at, "delta": half} for half in halves(text)),
        {"type": "response.output_item.done", "output_index": place, "item": item},
    ]


def _items(asked: Asked, turn: Turn) -> list[Body]:
    items: list[Body] = []
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append(
            {
                "id": Ids(asked.number).message("msg"),
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    for place, call in enumerate(turn.calls):
        items.append(
            {
                "id": Ids(asked.number).call("fc", place),
                "type": "function_call",
                "status": "completed",
                "call_id": Ids(asked.number).call("call", place),
                "name": call.name,
                "arguments": arguments_text(call),
            }
        )
    return items


def _usage(usage: Usage) -> Body:
    return {
        "input_tokens": usage.total_input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total_input + usage.output,
    }


def error(code: int, text: str) -> Body:
    kind = "invalid_request_error" if code < 500 else "server_error"
    code_text = "rate_limit_exceeded" if code == 429 else None
    return {"error": {"message": text, "type": kind, "param": None, "code": code_text}}


def error_piece() -> bytes:
    failed = {"status": "failed", "error": {"code": "server_error", "message": "Overloaded"}}
    return event({"type": "response.failed", "response": failed}, "response.failed")


RESPONSES = Protocol("responses", read, stream, whole, error, error_piece)
