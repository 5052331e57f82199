"""Measures, all the time, how late the event loop is, and catches who holds it up.

A task on the loop asks to be woken every few milliseconds; how late it wakes is the lag. A thread
beside it looks at the same clock: while the loop is held longer than the bound, it reads the
loop's stack, so the culprit is named while it is still at it.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any

log = logging.getLogger(__name__)

TICK_SECONDS = 0.02
BOUND_SECONDS = 0.25
"""A call may stay on the loop only if it is shorter than the shortest time-out running there; the
shortest is the pause between two checks of a waiting client, so this is a quarter of a second."""
WINDOW = 3000
"""Samples kept for the percentiles: a minute of ticks."""
STACK_FRAMES = 12
_NOT_CULPRITS = ("/asyncio/", "/lib/python", "<frozen ")


@dataclass(frozen=True)
class Spike:
    """`culprit` is file:line function of the innermost frame outside of the loop itself."""

    at: float
    seconds: float
    culprit: str


class LoopMonitor:
    """One per web process; `start` from the loop's thread, any number of times."""

    def __init__(self, *, bound_s: float = BOUND_SECONDS, tick_s: float = TICK_SECONDS) -> None:
        self.bound_s = bound_s
        self.tick_s = tick_s
        self.worst = 0.0
        self.spikes = 0
        self.last_spike: Spike | None = None
        self._samples: list[float] = []
        self._next = 0
        self._ticked = 0.0
        self._loop_thread = 0
        self._culprit = ""
        self._task: asyncio.Task[None] | None = None
        self._ended = threading.Event()

    def start(self) -> None:
        if self._task is not None and not self._task.done():
            return
        self._loop_thread = threading.get_ident()
        self._ticked = time.monotonic()
        self._ended.clear()
        self._task = asyncio.get_running_loop().create_task(self._tick())
        threading.Thread(target=self._look, name="loop-monitor", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def percentile(self, part: float) -> float:
        """Seconds of lag that `part` (0 to 1) of the last minute's samples stayed under."""
        ordered = sorted(self._samples)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0

    def state(self) -> dict[str, Any]:
        """Milliseconds, for /health."""
        spike = self.last_spike
        return {
            "p50_ms": _ms(self.percentile(0.5)),
            "p99_ms": _ms(self.percentile(0.99)),
            "worst_ms": _ms(self.worst),
            "bound_ms": _ms(self.bound_s),
            "spikes": self.spikes,
            "last_spike": {
                "ms": _ms(spike.seconds),
                "seconds_ago": round(time.time() - spike.at, 1),
                "culprit": spike.culprit,
            }
            if spike
            else None,
        }

    # -- on the loop -----------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(self.tick_s)
            now = time.monotonic()
            self._ticked = now
            self._sample(max(0.0, now - began - self.tick_s))

    def _sample(self, lag: float) -> None:
        if len(self._samples) < WINDOW:
            self._samples.append(lag)
        else:
            self._samples[self._next] = lag
            self._next = (self._next + 1) % WINDOW
        self.worst = max(self.worst, lag)
        if lag > self.bound_s:
            self.spikes += 1
            self.last_spike = Spike(time.time(), lag, self._culprit or "not seen at it")
        self._culprit = ""

    # -- beside the loop -------------------------------------------------------------------------

    def _look(self) -> None:
        """Half the bound between two looks, so that no spike goes by unseen."""
        seen = 0.0
        while not self._ended.wait(self.bound_s / 2):
            ticked = self._ticked
            held = time.monotonic() - ticked - self.tick_s
            if held > self.bound_s / 2 and ticked != seen:
                frame = sys._current_frames().get(self._loop_thread)
                if frame is None or held <= self.bound_s:
                    continue
                seen = ticked
                self._culprit = culprit_of(frame)
                log.warning(
                    "the event loop is held up for %.0f ms by %s\n%s",
                    held * 1000,
                    self._culprit,
                    "".join(traceback.format_stack(frame, STACK_FRAMES)),
                )


def culprit_of(frame: FrameType) -> str:
    """The innermost frame of code that is neither the loop's nor the standard library's."""
    stack = traceback.extract_stack(frame)
    for entry in reversed(stack):
        if not any(part in entry.filename for part in _NOT_CULPRITS):
            return f"{entry.filename}:{entry.lineno} {entry.name}"
    last = stack[-1]
    return f"{last.filename}:{last.lineno} {last.name}"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


MONITOR = LoopMonitor()
