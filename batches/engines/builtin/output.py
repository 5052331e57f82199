"""Standard output: one JSON object a line, written at once; documented in docs/builtin-agent.md."""

import json
import os
import time
from collections.abc import Callable, Collection
from typing import Any

DELTA_S = 0.5
SILENT_S = 10.0
REDACTED = "[redacted]"
SHORTEST_SECRET = 8
"""Shorter ones (a local server's "x") would hit ordinary words."""


class Output:
    """Secrets never get out, wherever in a line they are."""

    def __init__(
        self,
        secrets: Collection[str] = (),
        *,
        fd: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secrets = [s for s in secrets if len(s) >= SHORTEST_SECRET]
        self._fd = fd
        self._clock = clock
        self._pending = ""
        self._is_open = False  # a signal may break off a long line
        self._last = clock()

    def say(self, line_type: str, /, **facts: Any) -> None:
        line = json.dumps({"type": line_type, **facts}, default=str)
        for secret in self._secrets:
            line = line.replace(json.dumps(secret)[1:-1], REDACTED)
        data = (b"\n" if self._is_open else b"") + line.encode() + b"\n"
        self._is_open = True
        while data:
            data = data[os.write(self._fd, data) :]
        self._is_open = False
        self._last = self._clock()

    def redact(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def delta(self, text: str) -> None:
        """Text as it streams, some at a time."""
        self._pending += text
        if self._pending and self._clock() - self._last >= DELTA_S:
            pending, self._pending = self._pending, ""
            self.say("delta", text=pending)

    def drop_delta(self) -> None:
        """The whole message follows, or never will."""
        self._pending = ""

    def alive(self, what: str) -> None:
        """Now and then a line, so that work without output is not taken for a stall."""
        if self._clock() - self._last >= SILENT_S:
            self.say("progress", text=what)
