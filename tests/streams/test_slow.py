"""Clients that are slow, stand still or vanish cost little, and lose nothing."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.models import Workspace
from tests.codeframe_site.server_process import Web, eventually
from tests.streams.client import CLIENTS
from tests.streams.reading import seqs, until, until_seq, words
from tests.streams.writing import commit, committing

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.parametrize("transport", CLIENTS)
SMALL = 4096
"""Bytes that the kernel keeps for a reader that stands still."""
ABANDONED = 200
OF_THREADS = 8
"""Kept threads of requests come up as they are needed."""


def memory_kb(pid: int) -> int:
    line = Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2]
    return int(line.split()[0])


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def sockets(pid: int) -> int:
    """Its connections. Not files of databases: kept threads open theirs as they come up."""
    return sum(_is_socket(file) for file in Path(f"/proc/{pid}/fd").iterdir())


def _is_socket(file: Path) -> bool:
    try:
        return str(file.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False


@both
def test_who_stands_still_costs_nothing_and_gets_all_of_it_afterwards(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """20 MB pass by, more than memory keeps: the client is told, and reads on from the table."""
    text = "x" * 2000
    what = f"workspaces/{shop.id}"
    with CLIENTS[transport](server.port, what, headers, receive_buffer=SMALL) as client:
        frames = iter(client)
        until(frames, "live")
        commit(shop, 500, payload={"text": text})
        before = memory_kb(server.pid)
        commit(shop, 10_000, each=500, payload={"text": text})
        assert memory_kb(server.pid) - before < 40_000
        client.hurry()
        seen = until_seq(frames, 10_500)
        assert seqs(seen) == list(range(1, 10_501))
        assert "resync" in words(seen)
        assert words(until(frames, "live")) == ["live"]


def test_who_acknowledges_is_not_sent_more_than_it_can_hold(
    server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    total, most = 30_000, 20_000
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        client.ack(0)
        commit(shop)
        assert seqs(until(frames, "events")) == [1]
        commit(shop, total - 1, each=1000)
        seen = []
        while not client.wire.quiet(1.0):
            frame = next(frames)
            seen += [frame["type"], *seqs([frame])]
        numbers = [item for item in seen if isinstance(item, int)]
        assert most <= len(numbers) <= most + 1000
        client.ack(numbers[-1])
        numbers += seqs(until_seq(frames, total))
        assert numbers == list(range(2, total + 1))


@pytest.fixture(scope="module")
def impatient(start_server: Callable[..., Any]) -> Iterator[Web]:
    """Sends away after two seconds instead of sixty."""
    with start_server(CODEFRAME_STREAM_PATIENCE_SECONDS="2") as started:
        yield started


@both
def test_who_stands_still_for_long_is_sent_away_and_comes_back_without_a_loss(
    transport: str, impatient: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    text, total, what = "x" * 2000, 3000, f"workspaces/{shop.id}"
    client = CLIENTS[transport](impatient.port, what, headers, receive_buffer=SMALL)
    with client:
        frames = iter(client)
        until(frames, "live")
        before = sockets(impatient.pid)
        commit(shop, total, payload={"text": text})
        eventually(lambda: sockets(impatient.pid) < before, "the connection is dropped")
        seen = seqs(_until_torn(frames))
    assert len(seen) < total
    after = seen[-1] if seen else 0
    with CLIENTS[transport](impatient.port, what, headers, after=after) as client:
        seen += seqs(until_seq(client, total))
    assert seen == list(range(1, total + 1))


def test_who_acknowledges_no_more_is_told_why(
    impatient: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    with CLIENTS["ws"](impatient.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        client.ack(0)
        commit(shop)
        until(frames, "events")
        commit(shop, 25_000, each=1000)
        assert seqs(frames)[-1] >= 20_000
        assert client.code == 4408


def _until_torn(frames: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What was on its way when the connection was dropped may end in the middle of a frame."""
    try:
        yield from frames
    except (ValueError, OSError):
        return


@both
def test_two_hundred_abandoned_clients_leave_nothing_behind(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """Case 53: abandoned tabs kept forty threads, and the interface stood still."""
    what = f"workspaces/{shop.id}"
    open_ = CLIENTS[transport]
    with open_(server.port, what, headers) as one:  # what the first one makes stays
        until(iter(one), "live")
    eventually(lambda: _streams(server, headers) == 0, "the first has gone")
    before = (sockets(server.pid), threads(server.pid))
    memory: list[int] = []
    for _ in range(2):
        clients = [open_(server.port, what, headers) for _ in range(ABANDONED)]
        for client in clients:
            until(iter(client), "live")
        assert threads(server.pid) <= before[1] + OF_THREADS
        with committing(shop, 500, each=5):
            for client in clients:
                client.drop()
        eventually(lambda: _streams(server, headers) == 0, "all have gone")
        eventually(lambda: sockets(server.pid) <= before[0] + 2, "their connections are closed")
        eventually(
            lambda: threads(server.pid) <= before[1] + OF_THREADS, "their threads have ended"
        )
        memory.append(memory_kb(server.pid))
    assert memory[1] - memory[0] < 10_000


def _streams(server: Web, headers: dict[str, str]) -> float:
    return figure(server, headers, "codeframe_streams")


def figure(server: Web, headers: dict[str, str], name: str) -> float:
    """From /metrics; given by a staff token, which `ada` has."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as wire:
        lines = ["GET /metrics HTTP/1.0", f"Host: 127.0.0.1:{server.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        wire.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        text = b""
        while got := wire.recv(65536):
            text += got
    assert text.startswith(b"HTTP/1.0 200") or text.startswith(b"HTTP/1.1 200"), text[:300]
    line = next(row for row in text.decode().splitlines() if row.startswith(f"{name} "))
    return float(line.split()[1])


def test_the_figures_tell_of_the_streams(
    server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    before = figure(server, headers, "codeframe_stream_events_total")
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        commit(shop, 5, each=5)
        until_seq(frames, 5)
        assert _streams(server, headers) >= 1
        assert figure(server, headers, "codeframe_stream_events_total") == before + 5
        assert 0 <= figure(server, headers, "codeframe_stream_lag_seconds") < 60


def test_a_quiet_stream_is_heard_of(server: Web, shop: Workspace, headers: dict[str, str]) -> None:
    """A proxy closes what is silent for a minute; the cursor moves past what concerns others."""
    from tests.codeframe_site.rows import batch_row

    batch = batch_row(shop, status="RUNNING")  # type: ignore[arg-type]
    began = time.monotonic()
    with (
        CLIENTS["ws"](server.port, f"batches/{batch.id}", headers) as first,
        CLIENTS["sse"](server.port, f"batches/{batch.id}", headers) as second,
    ):
        streams = [iter(first), iter(second)]
        for frames in streams:
            until(frames, "live")
        commit(shop, 3)
        for frames in streams:
            (beat,) = until(frames, "heartbeat")
            assert beat["cursor"] == 3
    assert 14 < time.monotonic() - began < 25
