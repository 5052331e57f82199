"""A reference client of the streams, over a plain socket: WebSocket and server-sent events."""

import base64
import json
import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any, Self
from urllib.parse import urlencode

PATIENCE_S = 40.0
Word = dict[str, Any]
"""A frame as the server sent it: {"type": …, "cursor": …}, with "events" where it carries some."""


class Refused(Exception):
    """`code` is the close code of a socket, or the status of a response."""

    def __init__(self, code: int, body: str = "") -> None:
        super().__init__(f"{code} {body}")
        self.code = code
        self.body = body


class Wire:
    """Bytes of one connection; `ended` once the other side has closed it."""

    def __init__(self, port: int, *, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", port))
        self.data = bytearray()
        self.deadline = time.monotonic() + PATIENCE_S

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def more(self) -> bool:
        """Waits for more bytes; False at the end."""
        assert time.monotonic() < self.deadline, "heartbeats and nothing else"
        try:
            got = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        self.data += got
        return bool(got)

    def take(self, size: int) -> bytes:
        """Raises EOFError."""
        while len(self.data) < size:
            if not self.more():
                raise EOFError
        taken = bytes(self.data[:size])
        del self.data[:size]
        return taken

    def until(self, mark: bytes) -> bytes:
        while mark not in self.data:
            if not self.more():
                raise EOFError
        return self.take(self.data.index(mark) + len(mark))

    def quiet(self, seconds: float) -> bool:
        return not self.data and not select.select([self.socket], [], [], seconds)[0]

    def drop(self) -> None:
        """At once, with a reset, as when a laptop's lid closes on it."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def request(self, path: str, headers: dict[str, str], version: str = "1.1") -> int:
        lines = [f"GET {path} HTTP/{version}", *(f"{k}: {v}" for k, v in headers.items())]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.head = self.until(b"\r\n\r\n").decode()
        return int(self.head.split()[1])


class Client:
    """One connection; iterating gives its frames, until the server ends it."""

    code = 0
    """With which the server closed."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.wire.socket.close()

    def __iter__(self) -> Iterator[Word]:
        raise NotImplementedError

    def ack(self, seq: int) -> None:
        """Only sockets can."""

    def heard(self, frame: Word) -> Word:
        """Whoever is told of events goes on waiting for more."""
        if frame["type"] == "events":
            self.wire.deadline = time.monotonic() + PATIENCE_S
        return frame

    def hurry(self) -> None:
        """Takes as much at once as others do."""
        self.wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    def drop(self) -> None:
        self.wire.drop()


class SocketClient(Client):
    def __init__(
        self, port: int, what: str, headers: dict[str, str] | None = None, **query: Any
    ) -> None:
        super().__init__(Wire(port, receive_buffer=query.pop("receive_buffer", 0)))
        asked = {
            "Host": f"127.0.0.1:{port}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        } | (headers or {})
        status = self.wire.request(f"/ws/{what}/?{urlencode(query)}", asked)
        if status != 101:
            raise Refused(status)

    def __iter__(self) -> Iterator[Word]:
        while True:
            try:
                opcode, data = self._frame()
            except EOFError:
                return
            if opcode == 8:
                self.code = struct.unpack("!H", data[:2])[0] if data else 1005
                self._send(8, data)
                return
            if opcode == 9:
                self._send(10, data)
            elif opcode == 1:
                yield self.heard(json.loads(data))

    def ack(self, seq: int) -> None:
        self.say(json.dumps({"type": "ack", "seq": seq}))

    def say(self, text: str) -> None:
        self._send(1, text.encode())

    def _send(self, opcode: int, data: bytes) -> None:
        mask = os.urandom(4)
        # Protocols are strict: the shortest way to write a length is the only one.
        size = struct.pack("!BB", 0x80 | opcode, 0x80 | min(len(data), 126))
        if len(data) > 0xFFFF:
            size = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, len(data))
        elif len(data) > 125:
            size += struct.pack("!H", len(data))
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
        try:
            self.wire.send(size + mask + masked)
        except ConnectionError:
            return

    def _frame(self) -> tuple[int, bytes]:
        first, second = self.wire.take(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self.wire.take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.wire.take(8))
        return first & 0x0F, self.wire.take(size)


class SseClient(Client):
    def __init__(
        self,
        port: int,
        what: str,
        headers: dict[str, str] | None = None,
        version: str = "1.1",
        **query: Any,
    ) -> None:
        super().__init__(Wire(port, receive_buffer=query.pop("receive_buffer", 0)))
        asked = {"Host": f"127.0.0.1:{port}", "Accept": "text/event-stream"} | (headers or {})
        path = f"/api/v2/{what}/stream?{urlencode(query)}"
        status = self.wire.request(path, asked, version)
        self._chunked = "chunked" in self.wire.head.lower()
        self._text = b""
        if status != 200:
            raise Refused(status, self._rest())

    def __iter__(self) -> Iterator[Word]:
        while True:
            try:
                message = self._message()
            except EOFError:
                return
            fields = dict(line.split(": ", 1) for line in message.split("\n") if ": " in line)
            if "data" not in fields:
                continue
            body = json.loads(fields["data"])
            if "event" in fields:
                assert fields["event"] == body["type"]
                yield self.heard(body)
            else:
                assert int(fields["id"]) == body["seq"]
                yield self.heard({"type": "events", "events": [body], "cursor": body["seq"]})

    def _message(self) -> str:
        while b"\n\n" not in self._text:
            self._text += self._piece()
        message, _, self._text = self._text.partition(b"\n\n")
        return message.decode()

    def _piece(self) -> bytes:
        if not self._chunked:
            if not self.wire.data and not self.wire.more():
                raise EOFError
            return self.wire.take(len(self.wire.data))
        size = int(self.wire.until(b"\r\n"), 16)
        piece = self.wire.take(size + 2)[:-2]
        if not size:
            raise EOFError
        return piece

    def _rest(self) -> str:
        size = int(self.wire.head.lower().partition("content-length: ")[2].split()[0])
        return self.wire.take(size).decode()


CLIENTS: dict[str, type[Any]] = {"ws": SocketClient, "sse": SseClient}
