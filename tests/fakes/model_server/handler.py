"""One HTTP request after the other: finds its protocol and turn, answers it or breaks it."""

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.fakes.model_server import gemini
from tests.fakes.model_server.chat import CHAT
from tests.fakes.model_server.gemini import GEMINI
from tests.fakes.model_server.messages import MESSAGES
from tests.fakes.model_server.responses import RESPONSES
from tests.fakes.model_server.script import Fault, Script, Turn
from tests.fakes.model_server.wire import Asked, Protocol

if TYPE_CHECKING:
    from tests.fakes.model_server.server import ModelServer, Request

PATHS = {"/v1/messages": MESSAGES, "/v1/chat/completions": CHAT, "/v1/responses": RESPONSES}
GIVE_UP_S = 60.0


def protocol_of(path: str) -> Protocol | None:
    return PATHS.get(path) or (GEMINI if gemini.PATH.fullmatch(path) else None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def model_server(self) -> "ModelServer":
        found: ModelServer = self.server.model_server  # type: ignore[attr-defined]
        return found

    def log_message(self, format: str, *args: Any) -> None:
        return

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client went away, which many tests want it to
            self.close_connection = True

    def do_HEAD(self) -> None:
        self._send(200, b"")

    def do_GET(self) -> None:
        self._send_json(404, {"error": {"message": "no such page", "type": "not_found_error"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        if path == "/v1/messages/count_tokens":
            self._send_json(200, {"input_tokens": max(1, len(raw) // 4)})
            return
        protocol = protocol_of(path)
        if protocol is None:
            self.do_GET()
            return
        body = json.loads(raw)
        request = self.model_server.note(self.path, dict(self.headers), body, protocol.name)
        try:
            self._answer(protocol, protocol.read(path, body, request.number), request)
        finally:
            request.done.set()

    def _answer(self, protocol: Protocol, asked: Asked, request: "Request") -> None:
        request.model, request.stream = asked.model, asked.stream
        if not asked.has_tools:
            request.side = True
            self._give(protocol, asked, request, self.model_server.side, None)
            return
        script = self.model_server.script_for(asked.body)
        step = script.step(asked.replies) if script else None
        request.step = step
        if script is None or step is None:
            text = f"the script has no turn behind {asked.replies} replies"
            self._send_json(400, protocol.error(400, text))
            return
        fault = script.fault(step)
        if fault is None or fault.kind == "slow":
            self._give(protocol, asked, request, script.turns[step], fault, script)
        else:
            request.fault = str(fault.code) if fault.kind == "status" else fault.kind
            if protocol is MESSAGES and asked.stream and fault.kind != "status":
                request.begun = replace(script.turns[step].usage, output=1, reasoning=0)
            self._break(protocol, asked, script.turns[step], fault)

    def _give(
        self,
        protocol: Protocol,
        asked: Asked,
        request: "Request",
        turn: Turn,
        fault: Fault | None,
        script: Script | None = None,
    ) -> None:
        *pieces, last = self._pieces(protocol, asked, turn)
        self._start(200, asked)
        half = len(pieces) // 2
        for place, piece in enumerate([*pieces, last]):
            if place == half and turn.hold is not None:
                turn.hold.wait(GIVE_UP_S)
            if fault is not None:
                self.model_server.ended.wait(fault.delay_s)
            if piece is last:
                self._book(request, turn, script)
            self._chunk(piece)
        self._chunk(b"")

    def _book(self, request: "Request", turn: Turn, script: Script | None) -> None:
        """Before the end is sent: whoever has read the end finds it in the book."""
        request.usage = turn.usage
        request.answered = True
        if script is not None:
            script.answered()

    def _break(self, protocol: Protocol, asked: Asked, turn: Turn, fault: Fault) -> None:
        if fault.kind == "status" or (fault.kind == "overloaded" and not asked.stream):
            self._send_error(protocol, fault)
            return
        pieces = self._pieces(protocol, asked, turn)
        half = pieces[: max(1, len(pieces) // 2)]
        if not asked.stream:
            half = [pieces[0][: len(pieces[0]) // 2]]
        self._start(200, asked)
        for piece in half:
            self._chunk(piece)
        if fault.kind == "malformed":
            self._chunk(b'data: {"type": "content_block_delta", "delta": {"te\n\n')
            self._chunk(b"")
            return
        if fault.kind == "overloaded":
            self._chunk(protocol.error_piece())
            self._chunk(b"")
            return
        if fault.kind == "stall":
            self.model_server.released.wait(GIVE_UP_S)
        self.close_connection = True
        self.connection.close()

    def _pieces(self, protocol: Protocol, asked: Asked, turn: Turn) -> list[bytes]:
        if asked.stream:
            return protocol.stream(asked, turn)
        return [json.dumps(protocol.whole(asked, turn)).encode()]

    def _send_error(self, protocol: Protocol, fault: Fault) -> None:
        body = fault.body
        if body is None:
            body = protocol.error(fault.code, f"scripted {fault.code}")
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = dict(fault.headers)
        if fault.retry_after is not None:
            headers["Retry-After"] = fault.retry_after
        self._send(fault.code, data, headers)

    def _send_json(self, code: int, body: Any) -> None:
        self._send(code, json.dumps(body).encode())

    def _send(self, code: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _start(self, code: int, asked: Asked) -> None:
        self.send_response(code)
        kind = "text/event-stream" if asked.stream else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("request-id", f"req_fake{asked.number:06d}")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
