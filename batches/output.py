"""Agent output as events: coalesced by time and size, cut beyond a rate, told where it was cut."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from batches.context import RunContext
from costs import redaction
from tasks.events import types
from tasks.models import Event
from tasks.text import clip, printable, stored

FLUSH_SECONDS = 0.5
EVENT_BYTES = 32 * 1024
"""Most that one event carries, so 64 KiB a second and stream; beyond it only the spool has all."""


@dataclass
class Window:
    """Bytes of one stream that no event carries yet; `cut` bytes before them were left out."""

    start: int
    data: bytearray = field(default_factory=bytearray)
    cut: int = 0

    def add(self, data: bytes) -> None:
        """Secrets are masked as soon as they are whole, wherever the pieces were cut."""
        redactor = redaction.known()
        self.data += data
        self._keep(EVENT_BYTES + redactor.longest)
        looked_at = max(0, len(self.data) - len(data) - redactor.longest)
        self.data[looked_at:] = redactor.data(bytes(self.data[looked_at:]))
        self._keep(EVENT_BYTES)

    def _keep(self, most: int) -> None:
        overflow = len(self.data) - most
        if overflow > 0:
            del self.data[:overflow]
            self.start += overflow
            self.cut += overflow

    def take(self, *, everything: bool) -> bytes:
        """Whole lines where there are any, so that no character is split between two events."""
        newline = self.data.rfind(b"\n") + 1
        size = newline if newline and not everything else len(self.data)
        if not everything:
            size = min(size, len(self.data) - redaction.known().unsure(bytes(self.data)))
        taken = bytes(self.data[:size])
        del self.data[:size]
        self.start += size
        self.cut = 0
        return taken


class OutputRecorder:
    """Feed it chunks and call `tick` now and then; `flush` at the end."""

    def __init__(self, context: RunContext, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self._windows: dict[str, Window] = {}
        self._flushed = clock()

    def feed(self, stream: str, offset: int, data: bytes, cut: int) -> None:
        """`cut` bytes before `offset` were never seen: the spool had dropped them."""
        window = self._windows.setdefault(stream, Window(start=offset))
        if not window.data:
            window.start = offset
        window.cut += cut
        window.add(data)
        self.tick()

    def tick(self) -> None:
        if self._clock() - self._flushed >= FLUSH_SECONDS:
            self.flush(everything=False)

    def flush(self, *, everything: bool = True) -> None:
        self._flushed = self._clock()
        for stream, window in self._windows.items():
            if window.data:
                self._emit(stream, window, everything=everything)

    def _emit(self, stream: str, window: Window, *, everything: bool) -> None:
        start, cut = window.start, window.cut
        data = window.take(everything=everything)
        if not data:
            window.cut = cut
            return
        text = stored(data.decode("utf-8", "replace"))
        payload: dict[str, Any] = {"stream": stream, "offset": start, "end": start + len(data)}
        payload |= {"text": text} | ({"cut": cut} if cut else {})
        facts: dict[str, Any] = {
            "last_output_at": timezone.now(),
            "output_bytes": self._context.run.output_bytes + len(data) + cut,
        }
        shown = printable(text).strip()
        if shown:
            facts["last_line"] = clip(shown.splitlines()[-1].strip(), 200)
        self._context.save_and_say(types.RUN_OUTPUT, payload, **facts)


def recorded_offsets(run_id: UUID) -> dict[str, int]:
    """Where each stream's events end: an adopted run goes on from there, each byte once."""
    offsets: dict[str, int] = {}
    rows = Event.objects.filter(run_id=run_id, type=types.RUN_OUTPUT).order_by("-seq")
    for payload in rows.values_list("payload", flat=True)[:50]:
        offsets.setdefault(payload["stream"], payload["end"])
    return offsets
