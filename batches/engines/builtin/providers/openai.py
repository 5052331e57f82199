"""OpenAI's Chat Completions, and the many local servers that speak it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from batches.engines.builtin.conversation import (
    Answer,
    Call,
    Entry,
    Reply,
    Results,
    Stop,
    User,
    size,
)
from batches.engines.builtin.errors import ProviderError
from batches.engines.builtin.providers import Heard
from batches.engines.builtin.providers.endpoint import Endpoint
from batches.engines.builtin.providers.stream import Event, Stream, is_too_long
from costs.tokens import Tokens, of_totals, whole

STOPS: dict[str, Stop] = {"length": "length", "content_filter": "refusal"}
OWN_HOST = "api.openai.com"
CHARACTERS_PER_TOKEN = 4
"""Where a server tells no usage; such counts are marked as estimated."""
Message = dict[str, Any]


class OpenAI:
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
            "stream": True,
            "stream_options": {"include_usage": True},
            self._limit_name(): most_output,
            "tools": [{"type": "function", "function": tool} for tool in tools],
            "messages": [{"role": "system", "content": system}, *messages(entries)],
        }
        key = self._endpoint.key
        draft = _Draft(model=self._endpoint.model)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        for event in self._stream.post("/chat/completions", body, headers):
            draft.take(event, heard)
        return draft.answer(asked=len(system) + size(entries))

    def _limit_name(self) -> str:
        """OpenAI itself has renamed it; the others have not."""
        own = urlsplit(self._endpoint.base_url).hostname == OWN_HOST
        return "max_completion_tokens" if own else "max_tokens"


def messages(entries: Sequence[Entry]) -> list[Message]:
    said: list[Message] = []
    for entry in entries:
        if isinstance(entry, User):
            _add_user(said, entry.text)
        elif isinstance(entry, Results):
            said += [
                {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
                for result in entry.results
            ]
        else:
            said.append(_assistant(entry))
    return said


def _add_user(said: list[Message], text: str) -> None:
    """Joined to the one before: templates of some models refuse two in a row."""
    if said and said[-1]["role"] == "user":
        said[-1]["content"] += f"\n\n{text}"
    else:
        said.append({"role": "user", "content": text})


def _assistant(reply: Reply) -> Message:
    message: Message = {"role": "assistant", "content": reply.text or None}
    if not reply.calls:
        return message | {"content": reply.text}
    return message | {
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ]
    }


@dataclass
class _PartCall:
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class _Draft:
    """An answer as it comes in."""

    model: str
    provider_id: str = ""
    text: str = ""
    calls: list[_PartCall] = field(default_factory=list)
    usage: Event | None = None
    stop: str = ""

    def take(self, event: Event, heard: Heard) -> None:
        if event.get("error"):
            raise _error(event["error"])
        self.provider_id = str(event.get("id") or self.provider_id)
        self.model = str(event.get("model") or self.model)
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        heard(self._grow(choice) if isinstance(choice, dict) else "")

    def _grow(self, choice: Event) -> str:
        self.stop = str(choice.get("finish_reason") or self.stop)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return ""
        for part in delta.get("tool_calls") or []:
            if isinstance(part, dict):
                self._grow_call(part)
        said = delta.get("content")
        text = said if isinstance(said, str) else ""
        self.text += text
        return text

    def _grow_call(self, part: Event) -> None:
        """Some servers give every call the index 0, and tell them apart by id only."""
        index, name = whole(part.get("index")) or 0, str(part.get("id") or "")
        call = next((call for call in reversed(self.calls) if call.index == index), None)
        if call is None or (name and call.id and name != call.id):
            call = _PartCall(index)
            self.calls.append(call)
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        call.id = call.id or name
        call.name = call.name or str(function.get("name") or "")
        call.arguments += str(function.get("arguments") or "")

    def answer(self, *, asked: int) -> Answer:
        """`asked` is the request's size in characters. Raises ProviderError."""
        if not self.stop:
            raise ProviderError("cut", "The provider's answer ended before its end.")
        calls = tuple(
            Call(call.id or f"call_{uuid.uuid4().hex[:12]}", call.name, call.arguments or "{}")
            for call in self.calls
        )
        reply = Reply(self.text, calls)
        return Answer(
            reply=reply,
            stop="calls" if calls else STOPS.get(self.stop, "done"),
            tokens=_guess(asked, reply) if self.usage is None else _tokens(self.usage),
            model=self.model,
            provider_id=self.provider_id,
            estimated=self.usage is None,
        )


def _tokens(usage: Event) -> Tokens:
    return of_totals(
        total_input=whole(usage.get("prompt_tokens")) or 0,
        cached=_detail(usage, "prompt_tokens_details", "cached_tokens"),
        output=whole(usage.get("completion_tokens")) or 0,
        reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _detail(usage: Event, group: str, name: str) -> int:
    details = usage.get(group)
    return (whole(details.get(name)) or 0) if isinstance(details, dict) else 0


def _guess(asked: int, reply: Reply) -> Tokens:
    return Tokens(
        input=asked // CHARACTERS_PER_TOKEN, output=1 + size([reply]) // CHARACTERS_PER_TOKEN
    )


def _error(error: object) -> ProviderError:
    detail = error if isinstance(error, dict) else {"message": str(error)}
    text = str(detail.get("message") or "error")
    if is_too_long(detail):
        return ProviderError("context", text)
    if "rate_limit" in f"{detail.get('type')} {detail.get('code')}":
        return ProviderError("rate_limited", text)
    return ProviderError("server_error", text)
