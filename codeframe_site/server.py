"""Daphne with an end: it stops listening, lets requests finish for a while, and then goes."""

import errno
import signal
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

# Before any other part of Twisted: it installs the asyncio reactor.
import daphne.server

# isort: split
from daphne.endpoints import build_endpoint_description_strings
from daphne.http_protocol import WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor as installed_reactor

from codeframe_site.outflow import TransportOutflow
from codeframe_site.wire import LimitedFactory
from tasks.events.outflow import EXTENSION

# Daphne has no parameter for it.
daphne.server.HTTPFactory = LimitedFactory

reactor: Any = installed_reactor
SIGNALS = (signal.SIGTERM, signal.SIGINT)
LOOK_EVERY_S = 0.05
MOST_RECEIVED = 128 * 1024
"""Bytes of a client's message, also of one who is not signed in yet."""
CANCEL_S = 2.0
"""Time that requests cut off at the end of the drain get to notice."""


class StreamingServer(daphne.server.Server):  # type: ignore[misc]
    """Tells applications what their connection holds back, and sends what they want to send."""

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        scope.setdefault("extensions", {})[EXTENSION] = TransportOutflow(protocol)
        if isinstance(protocol, WebSocketProtocol):
            # Of the registered codes, its own way knows 1000 alone; a restart's is 1012. And what
            # may be received at most is, in its own way, the most that may be sent.
            protocol.serverClose = lambda code=None: protocol.sendCloseFrame(code=code or 1000)
            protocol.serverSend = partial(_send, protocol)
        return super().create_application(protocol, scope)


def _send(protocol: WebSocketProtocol, content: Any, binary: bool) -> None:  # noqa: FBT001
    if protocol.state == protocol.STATE_OPEN:
        data = content if binary else content.encode()
        protocol.sendFrame(opcode=2 if binary else 1, payload=data)


class DrainingServer:
    """`run` returns after a signal, or at once when the address cannot be listened on.

    `problem` then says why. Not restartable: Twisted's reactor runs once in a process.
    """

    def __init__(
        self,
        application: Any,
        *,
        bind: str,
        port: int,
        drain_s: float,
        on_ready: Callable[[str, int], None],
        on_drain: Callable[[], None] = lambda: None,
        drained: Callable[[], bool] = lambda: True,
    ) -> None:
        """`on_drain` tells streams to end, and `drained` says whether they have."""
        self.problem = ""
        self.cut_off = 0
        self._drain_s = drain_s
        self._on_ready = on_ready
        self._on_drain = on_drain
        self._drained = drained
        self._port: Any = None
        self._deadline: float | None = None
        self._daphne = StreamingServer(
            application=application,
            endpoints=build_endpoint_description_strings(host=bind, port=port),
            signal_handlers=False,
            server_name="codeframe",
            websocket_timeout=-1,
            websocket_max_message_size=MOST_RECEIVED,
            websocket_max_frame_size=MOST_RECEIVED,
        )
        self._daphne.listen_success = self._listening
        self._daphne.listen_error = self._refused

    def run(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        self._daphne.run()

    def _listening(self, port: Any) -> None:
        self._port = port
        address = port.getHost()
        self._on_ready(address.host, address.port)

    def _refused(self, failure: Any) -> None:
        self.problem = _in_words(failure.value)
        self._daphne.stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # The loop may be asleep: a call from outside wakes it.
        reactor.callFromThread(self._begin_to_end)

    def _begin_to_end(self) -> None:
        """A second signal ends at once."""
        if self._deadline is not None:
            self._deadline = 0.0
            return
        self._deadline = time.monotonic() + self._drain_s
        if self._port is not None:
            self._port.stopListening()
        self._on_drain()
        self._end_when_drained()

    def _end_when_drained(self) -> None:
        busy = self._in_flight()
        late = self._deadline is not None and time.monotonic() >= self._deadline
        if late or not (busy or not self._drained() or reactor.getWriters()):
            self.cut_off = busy
            self._daphne.stop()
            # A cut request may sit in a thread that nothing can end: it is not waited for.
            reactor.callLater(CANCEL_S, reactor.crash)
            return
        reactor.callLater(LOOK_EVERY_S, self._end_when_drained)

    def _in_flight(self) -> int:
        """Requests under way; not sockets and event streams, which come back with a cursor."""
        return sum(
            isinstance(protocol, WebRequest)
            and "disconnected" not in details
            and "application_instance" in details
            and not _is_stream(protocol)
            for protocol, details in self._daphne.connections.items()
        )


def _in_words(error: Exception) -> str:
    cause = getattr(error, "socketError", None)
    if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
        port = getattr(error, "port", "")
        return (
            f"port {port} is taken by another program; CODEFRAME_PORT or --port names another: "
            "make run PORT=8001"
        )
    return str(error)


def _is_stream(request: Any) -> bool:
    kinds = request.responseHeaders.getRawHeaders(b"content-type", [])
    return any(kind.startswith(b"text/event-stream") for kind in kinds)
