"""Serves on loopback; tells what it answered, and fails as it is told to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.models import protocols
from tests.fakes.models.protocols import Request, Spent


@dataclass(frozen=True)
class Fault:
    """`kind`: a status, or cut, malformed, stall, slow, ok; for the `times` next calls."""

    kind: int | str
    times: int = 1
    retry_after_s: int | None = None


@dataclass(frozen=True)
class Call:
    """One that was answered whole."""

    protocol: str
    model: str
    spent: Spent


@dataclass
class ModelServer:
    """`spend` gives the tokens of the n-th answered call, from 0."""

    spend: Callable[[int], Spent] = lambda _: Spent()
    answered: list[Call] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    on_answered: Callable[[int], None] = lambda _: None
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)
    _faults: list[int | str] = field(default_factory=list)
    _retry_after: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _begun: int = 0

    @contextmanager
    def serving(self) -> Iterator["ModelServer"]:
        http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        http.daemon_threads = True
        http.models = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            http.shutdown()
            thread.join()
            http.server_close()

    def fail(self, fault: Fault) -> None:
        with self._lock:
            self._faults += [fault.kind] * fault.times
            self._retry_after = fault.retry_after_s

    def heal(self) -> None:
        with self._lock:
            self._faults.clear()

    def next_fault(self) -> int | str | None:
        with self._lock:
            return self._faults.pop(0) if self._faults else None

    @property
    def retry_after(self) -> int | None:
        return self._retry_after

    def begin(self) -> Spent:
        """Numbers are given when a call begins, so that parallel ones differ."""
        with self._lock:
            self._begun += 1
            return self.spend(self._begun - 1)

    def end(self, request: Request, spent: Spent) -> None:
        with self._lock:
            self.answered.append(Call(request.protocol, request.model, spent))
            number = len(self.answered)
        self.on_answered(number)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return

    @property
    def models(self) -> ModelServer:
        return self.server.models  # type: ignore[attr-defined]

    def do_HEAD(self) -> None:
        self._empty(200)

    def do_GET(self) -> None:
        self._empty(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        self.models.requests.append(path)
        for name in ("x-api-key", "authorization", "x-goog-api-key"):
            if value := self.headers.get(name):
                self.models.keys.add(value)
        request = protocols.read(path, body)
        if request is None:
            self._empty(404)
            return
        fault = self.models.next_fault()
        if isinstance(fault, int):
            self._refuse(fault)
        else:
            self._answer(request, fault or "")

    def _empty(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _refuse(self, status: int) -> None:
        kinds = {401: "authentication_error", 429: "rate_limit_error", 400: "invalid_request_error"}
        error = {"type": kinds.get(status, "api_error"), "message": f"scripted {status}"}
        body = json.dumps({"type": "error", "error": error | {"code": status}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.models.retry_after is not None:
            self.send_header("Retry-After", str(self.models.retry_after))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, request: Request, fault: str) -> None:
        spent = self.models.begin()
        if not request.streams:
            body = json.dumps(protocols.whole_message(request, spent)).encode()
            self._head("application/json", len(body))
            self.models.end(request, spent)
            self.wfile.write(body)
            return
        self._head("text/event-stream", None)
        frames = [_frame(name, data) for name, data in protocols.events(request, spent)]
        if request.protocol == "chat":
            frames.append(b"data: [DONE]\n\n")
        try:
            self._stream(request, spent, frames, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _stream(self, request: Request, spent: Spent, frames: list[bytes], fault: str) -> None:
        for number, frame in enumerate(frames):
            if fault == "slow":
                time.sleep(0.3)
            if fault in ("cut", "stall", "malformed") and number == len(frames) // 2:
                if fault == "stall":
                    self.models.released.wait(120)
                if fault == "malformed":
                    self._chunk(b'data: {"type": "oh", "no\n\n')
                self.close_connection = True
                self.connection.close()
                return
            if number == len(frames) - 1:
                # Counted before it is sent: who has the last event may look at once.
                self.models.end(request, spent)
            self._chunk(frame)
        self._chunk(b"")

    def _head(self, kind: str, length: int | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()


def _frame(name: str, data: dict[str, Any]) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()
