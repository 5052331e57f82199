"""One client's stream: what it missed, then what happens, each event once and in order."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from django.db import Error as DatabaseError

from tasks.events.admission import Admission
from tasks.events.frames import Frame, pieces
from tasks.events.hub import HEARTBEAT_S, Hub, Lost
from tasks.events.payloads import Line
from tasks.events.reading import read_lines
from tasks.events.topic import Topic

log = logging.getLogger(__name__)

PAGE = 500
NORMAL = 1000
RETRY_S = 1.0
UNREAD_EVENTS = 20_000
UNREAD_CHARACTERS = 16 * 1024 * 1024
"""Sent and not acknowledged, by a client that acknowledges at all."""


class Sink(Protocol):
    """Where frames go: a WebSocket, or the body of a response."""

    @property
    def full(self) -> bool:
        """Whether the connection takes no more for now."""
        ...

    async def frame(self, frame: Frame) -> None: ...

    async def word(self, name: str, cursor: int, **more: Any) -> None: ...


class Unread:
    """What a client has been sent and has not yet acknowledged."""

    def __init__(self) -> None:
        self.too_much = False
        self._used = False
        self._sent: deque[tuple[int, int, int]] = deque()
        self._events = self._characters = 0

    def sent(self, frame: Frame) -> None:
        if self._used:
            self._sent.append((frame.cursor, len(frame.lines), frame.size))
            self._count(len(frame.lines), frame.size)

    def read(self, seq: int) -> None:
        self._used = True
        while self._sent and self._sent[0][0] <= seq:
            _, events, characters = self._sent.popleft()
            self._count(-events, -characters)

    def _count(self, events: int, characters: int) -> None:
        self._events += events
        self._characters += characters
        self.too_much = self._events > UNREAD_EVENTS or self._characters > UNREAD_CHARACTERS


class Stream:
    """`serve` runs until the end and gives the code to close with; others `wake` and `end` it."""

    def __init__(self, admission: Admission, sink: Sink, hub: Hub, lost: Lost) -> None:
        self.admission = admission
        self.wake = asyncio.Event()
        self.sent_at = time.monotonic()
        self.cursor = admission.cursor
        self._sink = sink
        self._hub = hub
        self._lost = lost
        self._unread = Unread()
        self._status = admission.ended
        self._settled = admission.settled
        self._live = False
        self._replayed = False
        self._held_since: float | None = None
        self._code: int | None = None
        self._topic: Topic | None = None

    async def serve(self) -> int:
        """Raises Refused when there is no room."""
        self._topic = self._hub.join(self, self._lost)
        try:
            replaying = self.cursor < self._topic.tail
            await self._say("hello", replaying=replaying)
            while self._code is None:
                await self._step(self._topic)
            return self._code
        finally:
            self._hub.leave(self)

    def end(self, code: int) -> None:
        if self._code is None:
            self._code = code
        self.wake.set()

    def acknowledge(self, seq: int) -> None:
        self._unread.read(seq)
        self.wake.set()

    def stuck_s(self, now: float) -> float:
        return now - self._held_since if self._held_since is not None else 0.0

    # -- one step --------------------------------------------------------------------------------

    async def _step(self, topic: Topic) -> None:
        self.wake.clear()
        if not topic.reaches(self.cursor):
            await self._replay(topic)
        elif self.cursor < topic.tail:
            await self._forward(topic.after(self.admission.target, self.cursor))
            await asyncio.sleep(0)  # others' turn: some servers never wait in `send`
        else:
            await self._rest()

    async def _replay(self, topic: Topic) -> None:
        """From the table. Up to the tail all is committed, so a page that is not full ends it."""
        if self._live:
            self._live = False
            self._hub.figures.resyncs += 1
            await self._say("resync")
        tail, target, after = topic.tail, self.admission.target, self.cursor
        lines = await self._read(lambda: read_lines(target, after=after, limit=PAGE))
        if lines is None:
            return
        for piece in pieces(lines):
            await self._forward(Frame(piece, piece[-1].seq, target.ending(piece)))
            if self._code is not None:
                return
        if len(lines) < PAGE:
            self.cursor = max(self.cursor, tail)

    async def _forward(self, frame: Frame) -> None:
        """What concerns the target not at all moves the cursor and is not sent."""
        if frame.lines:
            if not await self._free():
                return
            await self._sink.frame(frame)
            self._unread.sent(frame)
            self._count(frame)
        self.cursor = frame.cursor
        if frame.ending is not None:
            self._status = frame.ending

    async def _rest(self) -> None:
        """Caught up: says so, ends if this was all, and waits for more."""
        if not self._live:
            self._live = True
            await self._say("live")
        if self._status and self.cursor >= self._settled:
            await self._say("end", status=self._status)
            self.end(NORMAL)
            return
        if time.monotonic() - self.sent_at >= HEARTBEAT_S:
            await self._say("heartbeat")
        await self.wake.wait()

    async def _free(self) -> bool:
        """Waits while the client takes nothing; False when the stream is to end, or lags too far.

        What has left memory meanwhile is read from the table, and the client is told.
        """
        while self._sink.full or self._unread.too_much:
            if self._held_since is None:
                self._held_since = time.monotonic()
            await self.wake.wait()
            self.wake.clear()
            if self._code is not None:
                return False
        self._held_since = None
        return True

    async def _say(self, name: str, **more: Any) -> None:
        if await self._free():
            self.sent_at = time.monotonic()
            await self._sink.word(name, self.cursor, **more)

    def _count(self, frame: Frame) -> None:
        self.sent_at = time.monotonic()
        self._hub.figures.frames += 1
        self._hub.figures.events += len(frame.lines)

    async def _read(self, call: Callable[[], list[Line]]) -> list[Line] | None:
        """None, after a pause, while the database does not answer: the client keeps its place."""
        try:
            return await asyncio.wrap_future(self._hub.readers.submit(call))
        except DatabaseError as error:
            log.warning("missed events could not be read: %s", error)
            await asyncio.sleep(RETRY_S)
            return None
