"""What goes out in one piece: some events, or a word of the stream itself. Made once for all
clients that are at the same place."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from tasks.events.payloads import VERSION, Line

MOST_EVENTS = 500
MOST_CHARACTERS = 256 * 1024
"""Of one frame; an event that alone has more goes alone."""


class Frame:
    def __init__(self, lines: Sequence[Line], cursor: int, ending: str | None) -> None:
        self.lines = lines
        self.cursor = cursor
        self.ending = ending
        """The status that these events leave the target with; None when they say nothing of it."""

    @cached_property
    def size(self) -> int:
        return sum(len(line.text) for line in self.lines)

    @cached_property
    def message(self) -> str:
        """For a WebSocket."""
        events = ",".join(line.text for line in self.lines)
        return f'{{"type":"events","v":{VERSION},"events":[{events}],"cursor":{self.cursor}}}'

    @cached_property
    def chunk(self) -> bytes:
        """For an event stream: a message each, the number of the last being the cursor."""
        return "".join(f"id: {line.seq}\ndata: {line.text}\n\n" for line in self.lines).encode()


def pieces(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """In order, each small enough to be sent in one go."""
    start = size = 0
    for place, line in enumerate(lines):
        size += len(line.text)
        if place > start and (place - start >= MOST_EVENTS or size > MOST_CHARACTERS):
            yield lines[start:place]
            start, size = place, len(line.text)
    if start < len(lines):
        yield lines[start:]


def word(name: str, cursor: int, **more: Any) -> str:
    return json.dumps({"type": name, "v": VERSION, "cursor": cursor, **more})


def word_chunk(name: str, cursor: int, **more: Any) -> bytes:
    """With its number, so that a browser comes back from there."""
    return f"event: {name}\nid: {cursor}\ndata: {word(name, cursor, **more)}\n\n".encode()
