"""Google's generateContent and streamGenerateContent: /v1beta/models/MODEL:METHOD."""

import json
import re
from typing import Any

from tests.fakes.model_server.script import Turn, Usage
from tests.fakes.model_server.wire import Asked, Body, Ids, Protocol, event, halves
from tests.fakes.model_server.wire import runs as count_runs

PATH = re.compile(r"/v1(?:beta|alpha)?/models/([^:/]+):(generateContent|streamGenerateContent)")
STOPS = {"length": "MAX_TOKENS", "refusal": "SAFETY"}


def read(path: str, body: Body, number: int) -> Asked:
    found = PATH.match(path)
    assert found
    roles = [content.get("role") == "model" for content in body.get("contents", [])]
    return Asked(
        protocol="gemini",
        body=body,
        model=found[1],
        stream=found[2] == "streamGenerateContent",
        replies=count_runs(roles),
        has_tools=bool(body.get("tools")),
        number=number,
    )


def whole(asked: Asked, turn: Turn) -> Body:
    parts: list[Body] = [{"text": turn.text}] if turn.text else []
    return _answer(asked, parts + _calls(turn), turn, ended=True)


def stream(asked: Asked, turn: Turn) -> list[bytes]:
    begun = [
        event(_answer(asked, [{"text": half}], turn, ended=False))
        for half in halves(turn.text)
        if half
    ]
    return [*begun, event(_answer(asked, _calls(turn), turn, ended=True))]


def _answer(asked: Asked, parts: list[Body], turn: Turn, *, ended: bool) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts or [{"text": ""}]}, "index": 0}
    if ended:
        candidate["finishReason"] = STOPS.get(turn.stop, "STOP")
    answer: Body = {
        "candidates": [candidate],
        "modelVersion": asked.model,
        "responseId": Ids(asked.number).message("gem"),
    }
    return answer | ({"usageMetadata": _usage(turn.usage)} if ended else {})


def _calls(turn: Turn) -> list[Body]:
    return [{"functionCall": {"name": c.name, "args": _arguments(c.arguments)}} for c in turn.calls]


def _arguments(arguments: Any) -> Body:
    return dict(json.loads(arguments) if isinstance(arguments, str) else arguments)


def _usage(usage: Usage) -> Body:
    """Thoughts are told beside the candidates' tokens, not inside them."""
    return {
        "promptTokenCount": usage.total_input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.total_input + usage.output,
    }


KINDS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}


def error(code: int, text: str) -> Body:
    return {"error": {"code": code, "message": text, "status": KINDS.get(code, "INTERNAL")}}


def error_piece() -> bytes:
    return event(error(503, "Overloaded"))


GEMINI = Protocol("gemini", read, stream, whole, error, error_piece)
