"""The same streams as server-sent events, for EventSource and curl."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Any

from channels.exceptions import StopConsumer
from channels.utils import await_many_dispatch

from tasks.events.admission import Refused
from tasks.events.consumers import EventConsumer
from tasks.events.frames import Frame, word_chunk
from tasks.events.hub import FELL_BEHIND, GOING_AWAY
from tasks.events.outflow import outflow_of

RETRY_MS = 2000
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),  # nginx would keep events until its buffer is full
    (b"x-content-type-options", b"nosniff"),
]
CAME_BACK_LATER = {429: b"5", 503: b"2"}


class EventResponse(EventConsumer):
    """The response is written by a task, so that a client's leaving is noticed at once."""

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self.scope, self.base_send = scope, send
        self._finished: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        with contextlib.suppress(StopConsumer):
            await await_many_dispatch([receive, self._finished.get], self.dispatch)

    @property
    def full(self) -> bool:
        return outflow_of(self.scope).full

    async def http_request(self, message: dict[str, Any]) -> None:
        if self.serving is None:
            self.serving = asyncio.create_task(self._serve())

    async def http_disconnect(self, message: dict[str, Any]) -> None:
        await self.stop()

    async def frame(self, frame: Frame) -> None:
        await self._write(frame.chunk)

    async def word(self, name: str, cursor: int, **more: Any) -> None:
        if name == "hello":
            await self._start(200, HEADERS)
            await self._write(f"retry: {RETRY_MS}\n\n".encode())
        await self._write(word_chunk(name, cursor, **more))

    async def _serve(self) -> None:
        try:
            code = await self.serve(self)
            if code == FELL_BEHIND:
                outflow_of(self.scope).abort()
            if code == GOING_AWAY:  # all at once would be too many for whoever serves then
                await self._write(f"retry: {random.randint(500, 3000)}\n\n".encode())  # noqa: S311
            await self._write(b"", more=False)
        except Refused as refused:
            await self._refuse(refused)
        finally:
            self._finished.put_nowait({"type": "http.disconnect"})

    async def _refuse(self, refused: Refused) -> None:
        body = self.door.body(refused)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-content-type-options", b"nosniff"),
        ]
        if wait := CAME_BACK_LATER.get(refused.status):
            headers.append((b"retry-after", wait))
        await self._start(refused.status, headers)
        await self._write(body, more=False)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})
