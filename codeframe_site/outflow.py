"""How much Daphne holds back for a connection: its `send` never waits, so one has to look."""

import socket
from collections.abc import Callable
from typing import Any

from daphne.ws_protocol import WebSocketProtocol

SILENT_MS = 75_000


class TransportOutflow:
    """tasks.events.outflow.Outflow; Twisted tells a producer when 64 KiB wait to be sent."""

    def __init__(self, protocol: Any) -> None:
        self.full = False
        self._protocol = protocol
        self._changed: Callable[[], None] | None = None

    def watch(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        consumer = self._consumer()
        if consumer is not None:
            self._give_up_silent_peers()
            if isinstance(self._protocol, WebSocketProtocol):
                consumer.unregisterProducer()  # of the HTTP request that it was before
            consumer.registerProducer(self, True)  # noqa: FBT003

    def release(self) -> None:
        self._changed = None
        consumer = self._consumer()
        if consumer is not None:
            consumer.unregisterProducer()

    def abort(self) -> None:
        transport = getattr(self._protocol, "transport", None)
        if transport is not None:
            transport.abortConnection()

    # -- called by Twisted -----------------------------------------------------------------------

    def pauseProducing(self) -> None:
        self._set(full=True)

    def resumeProducing(self) -> None:
        self._set(full=False)

    def stopProducing(self) -> None:
        """The connection is lost; its protocol says so to the application."""

    def _set(self, *, full: bool) -> None:
        self.full = full
        if self._changed is not None:
            self._changed()

    def _give_up_silent_peers(self) -> None:
        """A peer that vanished without a word answers nothing, and TCP would wait for hours."""
        handle = getattr(self._protocol.transport, "getHandle", lambda: None)()
        option = getattr(socket, "TCP_USER_TIMEOUT", None)
        if option is not None and handle is not None and handle.family != socket.AF_UNIX:
            handle.setsockopt(socket.IPPROTO_TCP, option, SILENT_MS)

    def _consumer(self) -> Any:
        """None when the connection has gone."""
        if isinstance(self._protocol, WebSocketProtocol):
            return self._protocol.transport
        return self._protocol if self._protocol.channel is not None else None
