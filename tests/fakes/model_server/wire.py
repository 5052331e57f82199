"""What the protocols share: an answer as pieces of bytes, in the form that each wants."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.model_server.script import Call, Turn

Body = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a protocol reads out of a request."""

    protocol: str
    body: Body
    model: str
    stream: bool
    replies: int
    has_tools: bool
    number: int


@dataclass(frozen=True)
class Protocol:
    name: str
    read: Callable[[str, Body, int], Asked]
    stream: Callable[[Asked, Turn], list[bytes]]
    whole: Callable[[Asked, Turn], Body]
    error: Callable[[int, str], Body]
    error_piece: Callable[[], bytes]


@dataclass(frozen=True)
class Ids:
    """Different in every request."""

    number: int

    def message(self, prefix: str) -> str:
        return f"{prefix}_fake{self.number:06d}"

    def call(self, prefix: str, place: int) -> str:
        return f"{prefix}_fake{self.number:06d}x{place}"


def event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def arguments_text(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def halves(text: str) -> list[str]:
    """At least one, and no empty one but where all is empty."""
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part] or [""]


def runs(flags: Sequence[bool]) -> int:
    """How often a True follows something else: replies, however many items each has."""
    return sum(flag and not before for before, flag in zip([False, *flags], flags, strict=False))
