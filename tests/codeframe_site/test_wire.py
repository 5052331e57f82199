"""What is too large or too slow is refused while it arrives, by the real web process."""

import json
import shutil
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.codeframe_site.server_process import Web, eventually, manage, web

pytestmark = pytest.mark.acceptance
LIMIT = 2 * 1024 * 1024
HEAD = b"POST /api/v2/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    state = tmp_path_factory.mktemp("state")
    assert manage(state, "migrate", "--verbosity", "0").returncode == 0
    with web(state, CODEFRAME_ARRIVE_SECONDS="2", TMPDIR=str(state)) as server:
        yield server
    shutil.rmtree(state, ignore_errors=True)


class Wire:
    """A connection, byte by byte."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> tuple[int, Any]:
        """Up to the end of the connection."""
        received = b""
        while piece := self.socket.recv(65536):
            received += piece
        self.socket.close()
        head, _, body = received.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)["detail"]


def chunk(size: int) -> bytes:
    return f"{size:x}\r\n".encode() + b"x" * size + b"\r\n"


def test_a_body_that_says_it_is_too_large_is_refused_before_any_of_it_came(served: Web) -> None:
    wire = Wire(served.port)
    wire.send(HEAD + f"Content-Length: {LIMIT + 1}\r\n\r\n".encode())
    status, detail = wire.answer()
    assert (status, detail["code"]) == (413, "INVALID_REQUEST")
    assert str(LIMIT) in detail["detail"]


def test_a_body_in_chunks_is_cut_off_where_it_passes_the_limit(served: Web) -> None:
    wire = Wire(served.port)
    wire.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(LIMIT // 65536 + 1):
        wire.send(chunk(65536))
    assert wire.answer()[0] == 413


def test_a_body_that_ends_in_the_piece_that_passes_the_limit_reaches_no_view(served: Web) -> None:
    wire = Wire(served.port)
    wire.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(LIMIT))
    wire.send(chunk(1) + b"0\r\n\r\n")
    assert wire.answer()[0] == 413


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_of_the_limit_gets_as_far_as_a_view(served: Web, chunked: bool) -> None:
    wire = Wire(served.port)
    if chunked:
        wire.send(HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        wire.send(chunk(LIMIT) + b"0\r\n\r\n")
    else:
        wire.send(HEAD + f"Connection: close\r\nContent-Length: {LIMIT}\r\n\r\n".encode())
        wire.send(b"x" * LIMIT)
    assert wire.answer()[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        b"X-A: " + b"a" * 40_000 + b"\r\n",
        b"".join(b"X-%d: a\r\n" % n for n in range(150)),
        b"".join(b"X-%d: %s\r\n" % (n, b"a" * 500) for n in range(90)),
    ],
    ids=["one too long", "too many", "together too long"],
)
def test_headers_over_their_limits_are_refused(served: Web, headers: bytes) -> None:
    wire = Wire(served.port)
    wire.send(HEAD + headers + b"\r\n")
    status, detail = wire.answer()
    assert (status, detail["code"]) == (431, "INVALID_REQUEST")


def test_what_is_no_http_is_one_refusal(served: Web) -> None:
    wire = Wire(served.port)
    wire.send(b"GET / HTTP/1.1\r\nno header\r\nHost: localhost\r\n\r\n")
    assert wire.answer()[0] == 400


def test_a_request_that_never_comes_to_its_end_is_cut_off(served: Web) -> None:
    wire = Wire(served.port)
    wire.send(HEAD + b"Content-Length: 10\r\n\r\n12345")
    status, detail = wire.answer()
    assert (status, detail["code"]) == (408, "INVALID_REQUEST")


def test_a_refusal_leaves_nothing_behind(served: Web) -> None:
    wire = Wire(served.port)
    wire.send(HEAD + f"Content-Length: {LIMIT + 1}\r\n\r\n".encode())
    wire.answer()

    def under_way() -> int:
        probe = Wire(served.port)
        probe.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while piece := probe.socket.recv(65536):
            received += piece
        return int(json.loads(received.partition(b"\r\n\r\n")[2])["requests"]["under_way"])

    eventually(lambda: under_way() == 0, "no place is held")
    assert "Traceback" not in served.output


@pytest.mark.parametrize("path", ["/caf\xe9/", "/api/v2/tasks?q=\xe9", "/\xff\xfe"])
def test_a_path_that_is_not_ascii_is_refused_in_the_one_shape(served: Web, path: str) -> None:
    wire = Wire(served.port)
    wire.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
    status, error = wire.answer()
    assert (status, error["code"]) == (400, "INVALID_REQUEST")
