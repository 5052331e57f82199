"""A door to the database that can be shut: what is open breaks, what is new is refused."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Door:
    def __init__(self, host: str, port: int) -> None:
        self._behind = (host, port)
        self._pairs: list[socket.socket] = []
        self._listening: socket.socket | None = None
        self.port = 0
        self.open()

    def open(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listening], daemon=True).start()

    def shut(self) -> None:
        assert self._listening
        for one in (self._listening, *self._pairs):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._pairs.clear()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                here, _ = listening.accept()
                there = socket.create_connection(self._behind)
                self._pairs += [here, there]
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=_carry, args=ends, daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def door(host: str, port: int) -> Iterator[Door]:
    made = Door(host, port)
    try:
        yield made
    finally:
        made.shut()
