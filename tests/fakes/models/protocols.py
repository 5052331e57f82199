"""The four protocols: a request read, an answer written as the events of its stream."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.fakes.models.script import Step, arguments_text, next_step


@dataclass(frozen=True)
class Spent:
    """Tokens of one call; `fresh` input was neither `read` from nor `written` to a cache."""

    fresh: int = 1000
    read: int = 200
    written: int = 0
    output: int = 30


@dataclass(frozen=True)
class Request:
    protocol: str
    model: str
    step: Step
    streams: bool
    body: dict[str, Any]


def read(path: str, body: dict[str, Any]) -> Request | None:
    """None for a path that no model answers on."""
    if path.endswith("/messages"):
        return _request("messages", body, body["model"], bool(body.get("stream")))
    if path.endswith("/responses"):
        return _request("responses", body, body["model"], True)
    if path.endswith("/chat/completions"):
        return _request("chat", body, body["model"], bool(body.get("stream")))
    if ":streamGenerateContent" in path:
        model = path.rpartition("/")[2].partition(":")[0]
        return _request("gemini", body, model, True)
    return None


def _request(protocol: str, body: dict[str, Any], model: str, streams: bool) -> Request:
    said, results, tools = _READERS[protocol](body)
    step = next_step(said, results, tools) if tools else Step("Scripted title")
    return Request(protocol, model, step, streams, body)


def _of_messages(body: dict[str, Any]) -> tuple[list[str], int, list[str]]:
    said, results = [], 0
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results += sum(block["type"] == "tool_result" for block in blocks)
        if message["role"] == "user":
            said += [block["text"] for block in blocks if block["type"] == "text"]
    return said, results, [tool["name"] for tool in body.get("tools", [])]


def _of_responses(body: dict[str, Any]) -> tuple[list[str], int, list[str]]:
    said, results = [], 0
    for item in body["input"]:
        results += item["type"].endswith("_call_output")
        if item["type"] == "message" and item["role"] == "user":
            said += [part.get("text", "") for part in item["content"]]
    return said, results, [tool.get("name", "") for tool in body.get("tools", [])]


def _of_chat(body: dict[str, Any]) -> tuple[list[str], int, list[str]]:
    said, results = [], 0
    for message in body["messages"]:
        results += message["role"] == "tool"
        content = message["content"]
        if message["role"] == "user":
            said += [content] if isinstance(content, str) else [p.get("text", "") for p in content]
    return said, results, [tool["function"]["name"] for tool in body.get("tools", [])]


def _of_gemini(body: dict[str, Any]) -> tuple[list[str], int, list[str]]:
    said, results = [], 0
    for content in body["contents"]:
        for part in content["parts"]:
            results += "functionResponse" in part
            if content.get("role") == "user" and "text" in part:
                said.append(part["text"])
    declared = [d for tool in body.get("tools", []) for d in tool.get("functionDeclarations", [])]
    return said, results, [tool["name"] for tool in declared]


_READERS = {
    "messages": _of_messages,
    "responses": _of_responses,
    "chat": _of_chat,
    "gemini": _of_gemini,
}


def events(request: Request, spent: Spent) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of each event of the stream."""
    yield from _WRITERS[request.protocol](request, spent)


def _messages(request: Request, spent: Spent) -> Iterator[tuple[str, dict[str, Any]]]:
    usage = {
        "input_tokens": spent.fresh,
        "cache_read_input_tokens": spent.read,
        "cache_creation_input_tokens": spent.written,
    }
    message = whole_message(request, spent) | {
        "content": [],
        "stop_reason": None,
        "usage": usage | {"output_tokens": 1},
    }
    yield "message_start", {"type": "message_start", "message": message}
    for index, block in enumerate(_blocks(request.step)):
        empty, delta = _block_parts(block)
        at = {"index": index}
        yield "content_block_start", {"type": "content_block_start", "content_block": empty} | at
        yield "content_block_delta", {"type": "content_block_delta", "delta": delta} | at
        yield "content_block_stop", {"type": "content_block_stop"} | at
    delta = {"stop_reason": _stop_reason(request.step), "stop_sequence": None}
    usage_then = {"output_tokens": spent.output}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage_then}
    yield "message_stop", {"type": "message_stop"}


def whole_message(request: Request, spent: Spent) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": _blocks(request.step),
        "stop_reason": _stop_reason(request.step),
        "stop_sequence": None,
        "usage": {
            "input_tokens": spent.fresh,
            "cache_read_input_tokens": spent.read,
            "cache_creation_input_tokens": spent.written,
            "output_tokens": spent.output,
        },
    }


def _stop_reason(step: Step) -> str:
    return "tool_use" if step.tool else "end_turn"


def _blocks(step: Step) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": step.text}]
    if step.tool:
        call = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": step.tool}
        blocks.append(call | {"input": step.arguments})
    return blocks


def _block_parts(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if block["type"] == "text":
        return block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    partial = json.dumps(block["input"])
    return block | {"input": {}}, {"type": "input_json_delta", "partial_json": partial}


def _responses(request: Request, spent: Spent) -> Iterator[tuple[str, dict[str, Any]]]:
    response = {"id": f"resp_{uuid4().hex}", "object": "response", "model": request.model}
    created = response | {"status": "in_progress", "output": []}
    yield "response.created", {"type": "response.created", "response": created}
    items = list(_items(request.step))
    for index, item in enumerate(items):
        at = {"output_index": index, "item": item}
        yield "response.output_item.added", {"type": "response.output_item.added"} | at
        yield "response.output_item.done", {"type": "response.output_item.done"} | at
    total = spent.fresh + spent.read + spent.written
    usage = {
        "input_tokens": total,
        "input_tokens_details": {"cached_tokens": spent.read},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total + spent.output,
    }
    done = response | {"status": "completed", "output": items, "usage": usage}
    yield "response.completed", {"type": "response.completed", "response": done}


def _items(step: Step) -> Iterator[dict[str, Any]]:
    yield {
        "type": "message",
        "id": f"msg_{uuid4().hex}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": step.text, "annotations": []}],
    }
    if step.tool:
        yield {
            "type": "function_call",
            "id": f"fc_{uuid4().hex}",
            "call_id": f"call_{uuid4().hex}",
            "name": step.tool,
            "arguments": arguments_text(step),
            "status": "completed",
        }


def _chat(request: Request, spent: Spent) -> Iterator[tuple[str, dict[str, Any]]]:
    chunk = {"id": f"chat_{uuid4().hex}", "object": "chat.completion.chunk", "model": request.model}

    def choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield "", choice({"role": "assistant", "content": request.step.text})
    if request.step.tool:
        function = {"name": request.step.tool, "arguments": arguments_text(request.step)}
        call = {"index": 0, "id": f"call_{uuid4().hex}", "type": "function", "function": function}
        yield "", choice({"tool_calls": [call]})
    yield "", choice({}, "tool_calls" if request.step.tool else "stop")
    total = spent.fresh + spent.read
    usage = {
        "prompt_tokens": total,
        "completion_tokens": spent.output,
        "total_tokens": total + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.read},
    }
    yield "", chunk | {"choices": [], "usage": usage}


def _gemini(request: Request, spent: Spent) -> Iterator[tuple[str, dict[str, Any]]]:
    parts: list[dict[str, Any]] = [{"text": request.step.text}]
    if request.step.tool:
        call = {"name": request.step.tool, "args": request.step.arguments}
        parts.append({"functionCall": call})
    total = spent.fresh + spent.read
    usage = {
        "promptTokenCount": total,
        "cachedContentTokenCount": spent.read,
        "candidatesTokenCount": spent.output,
        "totalTokenCount": total + spent.output,
    }
    content = {"role": "model", "parts": parts}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": request.model}
    yield "", body


_WRITERS = {
    "messages": _messages,
    "responses": _responses,
    "chat": _chat,
    "gemini": _gemini,
}
