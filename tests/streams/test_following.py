"""What a client sees: what it missed, then what happens, each event once and in order."""

import json
import random
import uuid
from typing import Any

import pytest

from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from tasks.models import Task, Workspace
from tests.codeframe_site.rows import batch_row, workspace_row
from tests.codeframe_site.server_process import Web
from tests.streams.client import CLIENTS, Wire
from tests.streams.reading import seqs, until, until_seq, words
from tests.streams.writing import commit, committing

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.parametrize("transport", CLIENTS)
DROPS = 5


@both
def test_it_replays_and_then_follows(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    commit(shop, 3)
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers, after=1) as client:
        frames = iter(client)
        seen = until(frames, "live")
        assert words(seen) == ["hello", "live"]
        assert (seen[0]["replaying"], seen[0]["cursor"]) == (True, 1)
        assert (seqs(seen), seen[-1]["cursor"]) == ([2, 3], 3)
        commit(shop)
        (frame,) = until(frames, "events")
        assert [event["seq"] for event in frame["events"]] == [4]


@both
def test_without_a_cursor_it_begins_now(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    commit(shop, 3)
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        assert until(frames, "live")[0]["replaying"] is False
        commit(shop)
        assert seqs(until(frames, "events")) == [4]


@both
def test_a_cursor_from_the_future_counts_as_the_newest(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """As after a database was put back from a copy."""
    commit(shop, 3)
    client = CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers, after=10**18)
    with client:
        frames = iter(client)
        assert until(frames, "live")[-1]["cursor"] == 3
        commit(shop)
        assert seqs(until(frames, "events")) == [4]


@both
def test_an_event_is_what_the_api_shows(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str], client: Any
) -> None:
    numbers = {name: uuid.uuid4() for name in ("task_id", "run_id", "batch_id")}
    payload = {"text": 'a "b"\n\u2028\x00<script>é', "deep": [{"x": 1.5}], "none": None}
    commit(shop, payload=payload, **numbers)
    commit(shop)
    answer = client.get(f"/api/v2/events?workspace={shop.id}&after=0", headers=headers)
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers, after=0) as stream:
        seen = until_seq(iter(stream), 2)
    assert [e for f in seen for e in f.get("events", [])] == answer.json()["events"]


@both
def test_ten_thousand_events_survive_five_broken_connections(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """Case 54: each number once, in order."""
    total, rng = 10_000, random.Random(7)
    drops = sorted(rng.sample(range(1, total), DROPS))
    seen: list[int] = []
    with committing(shop, total, each=20):
        for goal in [*drops, total]:
            after = seen[-1] if seen else 0
            what = f"workspaces/{shop.id}"
            with CLIENTS[transport](server.port, what, headers, after=after) as client:
                seen += seqs(until_seq(client, goal))
                client.drop()
    assert seen == list(range(1, total + 1))


@both
def test_a_burst_of_five_thousand_arrives_whole(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        commit(shop, 5000, each=5000)
        assert seqs(until_seq(frames, 5000)) == list(range(1, 5001))


@both
def test_a_batch_a_run_and_a_task_are_told_their_own_only(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    task = Task.objects.create(workspace=shop, title="x")
    batch = batch_row(shop, BatchStatus.RUNNING)
    run = batch.runs.create(task=task, title="x", position=0, status=RunStatus.RUNNING)
    commit(shop)
    commit(shop, batch_id=batch.id)
    commit(shop, task_id=task.id)
    commit(shop, batch_id=batch.id, run_id=run.id, task_id=task.id)
    commit(shop, batch_id=uuid.uuid4(), run_id=uuid.uuid4())
    expected = {f"batches/{batch.id}": [2, 4], f"runs/{run.id}": [4], f"tasks/{task.id}": [3, 4]}
    last = 5
    for what, numbers in expected.items():
        with CLIENTS[transport](server.port, what, headers, after=0) as client:
            frames = iter(client)
            seen = until(frames, "live")
            assert (seqs(seen)[: len(numbers)], seen[-1]["cursor"]) == (numbers, last), what
            commit(shop)
            commit(shop, batch_id=batch.id, run_id=run.id, task_id=task.id)
            last += 2
            assert seqs(until(frames, "events")) == [last], what


@both
def test_one_workspace_does_not_see_another(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    other = workspace_row("other")
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        commit(other, 5)
        commit(shop)
        (frame,) = until(frames, "events")
        assert {event["workspace_id"] for event in frame["events"]} == {str(shop.id)}


def test_an_old_proxy_gets_each_event_at_once(
    server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """Case 63: nginx speaks HTTP/1.0 to us unless told otherwise, and buffers what it may."""
    stream = CLIENTS["sse"](server.port, f"workspaces/{shop.id}", headers, version="1.0")
    with stream as client:
        assert "x-accel-buffering: no" in client.wire.head.lower()
        assert "no-transform" in client.wire.head.lower()
        frames = iter(client)
        until(frames, "live")
        commit(shop)
        assert seqs(until(frames, "events")) == [1]


def test_a_browser_that_comes_back_is_where_it_was(
    server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    commit(shop, 3)
    back = headers | {"Last-Event-ID": "2"}
    with CLIENTS["sse"](server.port, f"workspaces/{shop.id}", back, after=0) as client:
        assert seqs(until(iter(client), "live")) == [3]


def test_what_is_no_stream_stays_what_it_was(server: Web, shop: Workspace) -> None:
    """A POST is Django's to refuse, and a socket without an address is refused."""
    wire = Wire(server.port)
    head = {"Host": f"127.0.0.1:{server.port}", "Content-Length": "0"}
    lines = [f"POST /api/v2/workspaces/{shop.id}/stream HTTP/1.1"]
    lines += [f"{k}: {v}" for k, v in head.items()]
    wire.send(("\r\n".join(lines) + "\r\n\r\n").encode())
    assert b" 404 " in wire.until(b"\r\n")
    wire.socket.close()
    for path in ("/ws/", "/ws/workspaces/x/", f"/ws/workspaces/{shop.id}", "/"):
        wire = Wire(server.port)
        upgrade = {
            "Host": f"127.0.0.1:{server.port}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "x" * 22 + "==",
        }
        assert wire.request(path, upgrade) == 403, path
        wire.socket.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "null",
        '{"type":"ack"}',
        '{"type":"ack","seq":"1"}',
        "[" * 900,
        '{"type":"ack","seq":true}',
        json.dumps({"type": "ack", "seq": -5}),
        '{"type":"x"}',
        '{"type":"ack","seq":1' + "0" * 400 + "}",
        "y" * 100_000,
    ],
)
def test_whatever_a_client_says_its_stream_goes_on(
    text: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        client.say(text)
        commit(shop)
        assert seqs(until(frames, "events")) == [1]
