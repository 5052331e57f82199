"""What was said so far, in no provider's own form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from costs.tokens import Tokens

Stop = Literal["done", "calls", "length", "refusal"]


@dataclass(frozen=True, slots=True)
class User:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """`arguments` is JSON as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """`native` holds the provider's own blocks where they must go back as they came."""

    text: str
    calls: tuple[Call, ...] = ()
    native: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    call_id: str
    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Results:
    """Of all calls of the reply just before, in their order."""

    results: tuple[Result, ...]


Entry = User | Reply | Results


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """`estimated`: the provider told no usage, or not all of it."""

    reply: Reply
    stop: Stop
    tokens: Tokens
    model: str
    provider_id: str = ""
    estimated: bool = False


def unanswered(entries: Sequence[Entry]) -> tuple[Call, ...]:
    """Calls of the last reply that nothing follows."""
    last = entries[-1] if entries else None
    return last.calls if isinstance(last, Reply) else ()


def size(entries: Sequence[Entry]) -> int:
    """In characters, which tokens are in proportion to."""
    return sum(size_of(entry) for entry in entries)


def size_of(entry: Entry) -> int:
    if isinstance(entry, User):
        return len(entry.text)
    if isinstance(entry, Results):
        return sum(len(result.text) for result in entry.results)
    return len(entry.text) + sum(len(call.arguments) + len(call.name) for call in entry.calls)
