"""What is refused while it still arrives: bodies and headers beyond their limits.

Twisted keeps a body in a file on disk, of any size, before anybody is asked.
"""

import json
from io import BytesIO
from typing import Any

# isort: split
from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.internet import reactor as installed_reactor
from twisted.web import http

from codeframe_site.errors import error_body

reactor: Any = installed_reactor
_Channel: Any = http.HTTPChannel
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 1024
LINGER_S = 2.0
"""A client that still sends must not lose the answer with the connection."""


class LimitedRequest(WebRequest):  # type: ignore[misc]
    def gotLength(self, length: int | None) -> None:
        self._arrived = 0
        if length is not None and length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            self.content = BytesIO()
            self._refuse()
        else:
            super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        """A body in chunks says nothing of its length before it ends."""
        if self.channel.refused:
            return
        self._arrived += len(data)
        if self._arrived > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Daphne's own is HTML, or nothing where the address is not ASCII."""
        if status == 400:
            self.channel.refuse(400, "Malformed request", body)
        else:
            super().basic_error(status, status_text, body)

    def _refuse(self) -> None:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        self.channel.refuse(413, "Body too large", f"a body has {limit} bytes at most")


class LimitedChannel(_Channel):  # type: ignore[misc]
    maxHeaders = MAX_HEADERS
    totalHeadersSize = MAX_HEADER_BYTES
    refused = False
    _late: Any = None

    def lineReceived(self, line: bytes) -> None:
        if self.refused:
            return  # what came together with it is still handed on
        if self._late is None:
            self._late = reactor.callLater(settings.ARRIVE_SECONDS, self._too_slow)
        super().lineReceived(line)

    def allContentReceived(self) -> None:
        self._in_time()
        if not self.refused:
            super().allContentReceived()

    def connectionLost(self, reason: Any) -> None:
        self._in_time()
        super().connectionLost(reason)

    def _in_time(self) -> None:
        if self._late is not None and self._late.active():
            self._late.cancel()
        self._late = None

    def _too_slow(self) -> None:
        seconds = settings.ARRIVE_SECONDS
        self.refuse(408, "Request too slow", f"it was not all here after {seconds} s")

    def refuse(self, status: int, error: str, detail: str) -> None:
        """Once; whatever comes after it is thrown away, and then the connection ends."""
        if self.refused:
            return
        self.refused = True
        self.dataReceived = _ignore
        self.transport.write(_answer(status, error, detail))
        self.transport.loseWriteConnection()
        reactor.callLater(LINGER_S, self.transport.abortConnection)

    def lineLengthExceeded(self, line: bytes) -> None:
        self._too_much()

    def _respondToBadRequestAndDisconnect(self) -> None:
        """Twisted comes here for anything it cannot read, and for headers over their limits."""
        much = self._receivedHeaderSize > MAX_HEADER_BYTES
        if much or self._receivedHeaderCount > MAX_HEADERS:
            self._too_much()
        else:
            self.refuse(400, "Malformed request", "this is no HTTP")

    def _too_much(self) -> None:
        detail = f"headers are {MAX_HEADERS} and have {MAX_HEADER_BYTES} bytes at most"
        self.refuse(431, "Headers too large", detail)


class LimitedFactory(HTTPFactory):  # type: ignore[misc]
    def protocol(self) -> Any:
        return http._GenericHTTPChannelProtocol(LimitedChannel())

    def buildProtocol(self, address: Any) -> Any:
        protocol = super().buildProtocol(address)
        protocol.requestFactory = LimitedRequest
        return protocol


def _ignore(data: bytes) -> None:
    """In place of a channel's reader."""


def _answer(status: int, error: str, detail: str) -> bytes:
    body = json.dumps(error_body(error, "INVALID_REQUEST", detail)).encode()
    reason = http.RESPONSES.get(status, b"Refused")
    head = (
        f"HTTP/1.1 {status} {reason.decode()}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
