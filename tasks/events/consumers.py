"""Streams over WebSocket; docs/streams.md has the protocol."""

import asyncio
import contextlib
import json
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from channels.consumer import AsyncConsumer
from channels.exceptions import StopConsumer
from django.db import Error as DatabaseError

from tasks.events.admission import Admission, Asked, Door, Refused
from tasks.events.frames import Frame, word
from tasks.events.hub import FELL_BEHIND, GOING_AWAY, Hub
from tasks.events.outflow import outflow_of
from tasks.events.stream import Stream

UNEXPECTED = 1011
MOST_SAID = 1024
"""Characters of a client's message; an acknowledgement has less than fifty."""


class EventConsumer(AsyncConsumer):  # type: ignore[misc]
    """What both transports share: to be let in, and no thread of Channels' own."""

    def __init__(self, *, door: Door, hub: Hub) -> None:
        self.door = door
        self.hub = hub
        self.stream: Stream | None = None
        self.serving: asyncio.Task[None] | None = None

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Channels would look after database connections first, in a thread, for each message."""
        await getattr(self, message["type"].replace(".", "_"))(message)

    async def admitted(self) -> Admission:
        """Raises Refused."""
        self.hub.require_room()
        asked = asked_of(self.scope)
        self.hub.entering += 1
        try:
            asking = self.hub.readers.submit(lambda: self.door.admit(asked))
            return await asyncio.wrap_future(asking)
        except DatabaseError:  # also on a new connection
            raise Refused(503, "the database does not answer") from None
        finally:
            self.hub.entering -= 1

    async def serve(self, sink: Any) -> int:
        """Until the end; gives the code to close with. Raises Refused."""
        self.stream = Stream(await self.admitted(), sink, self.hub, self.door.lost)
        outflow = outflow_of(self.scope)
        outflow.watch(self.stream.wake.set)
        try:
            return await self.stream.serve()
        finally:
            outflow.release()

    async def stop(self) -> None:
        """The client has gone: ends what serves it, and raises what that raised."""
        if self.serving is not None:
            self.serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.serving
        raise StopConsumer


class EventSocket(EventConsumer):
    @property
    def full(self) -> bool:
        return outflow_of(self.scope).full

    async def websocket_connect(self, message: dict[str, Any]) -> None:
        self.serving = asyncio.create_task(self._serve())

    async def websocket_receive(self, message: dict[str, Any]) -> None:
        seq = acknowledged(message.get("text"))
        if seq is not None and self.stream is not None:
            self.stream.acknowledge(seq)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        await self.stop()

    async def frame(self, frame: Frame) -> None:
        await self.send({"type": "websocket.send", "text": frame.message})

    async def word(self, name: str, cursor: int, **more: Any) -> None:
        await self.send({"type": "websocket.send", "text": word(name, cursor, **more)})

    async def _serve(self) -> None:
        """Accepted first, since a browser is told no code of a socket that never opened."""
        code = UNEXPECTED
        try:
            await self.send({"type": "websocket.accept"})
            code = await self.serve(self)
        except Refused as refused:
            code = GOING_AWAY if refused.status == 503 else 4000 + refused.status
        finally:
            await self.send({"type": "websocket.close", "code": code})
            if code == FELL_BEHIND and self.full:
                outflow_of(self.scope).abort()  # it would never come to the close


def asked_of(scope: dict[str, Any]) -> Asked:
    """The router has put in kind and id."""
    found = scope["url_route"]["kwargs"]
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return Asked(kind=found["kind"], id=UUID(found["id"]), headers=headers, query=dict(pairs))


def acknowledged(text: str | None) -> int | None:
    """The number of an acknowledgement; None for what is none."""
    if text is None or len(text) > MOST_SAID:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    right = isinstance(said, dict) and said.get("type") == "ack"
    seq = said.get("seq") if right else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None
