"""Several processes, a lost database connection, and a server that restarts."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from batches.models import Batch
from tasks.models import Event, Workspace
from tests.codeframe_site.server_process import ROOT, Web, environment
from tests.factories import make_batch, make_task, make_workspace
from tests.faults.world import database_url
from tests.streams.client import CLIENTS, Refused
from tests.streams.reading import closed_with, seqs, until, until_seq, words
from tests.streams.writing import commit, committing

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.parametrize("transport", CLIENTS)


@both
def test_clients_of_two_web_processes_see_what_a_third_process_does(
    transport: str,
    server: Web,
    start_server: Callable[..., Any],
    tmp_path: Path,
    headers: dict[str, str],
) -> None:
    """Fault 34: only the process that ran a task told of it. No Redis anywhere."""
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace), make_task(workspace, "Two")])
    with start_server() as second:
        ports = [server.port, second.port]
        clients = [CLIENTS[transport](p, f"batches/{batch.id}", headers, after=0) for p in ports]
        streams = [iter(client) for client in clients]
        for frames in streams:
            until(frames, "live")
        conduct(batch, tmp_path)
        ends = [list(frames) for frames in streams]
        for client in clients:
            client.drop()
    stored = Event.objects.filter(batch_id=batch.id).order_by("seq")
    numbers = list(stored.values_list("seq", flat=True))
    for seen in ends:
        assert seqs(seen) == numbers[1:]  # BATCH_CREATED came before `live`
        assert (seen[-1]["type"], seen[-1]["status"]) == ("end", "COMPLETED")


def conduct(batch: Batch, folder: Path) -> None:
    """In a process of its own, as a worker does."""
    import subprocess
    import sys

    code = (
        "import django; django.setup()\n"
        "from batches.jobs import execute_batch\n"
        f"execute_batch('{batch.id}')\n"
    )
    more = {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "codeframe_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.postgres
@both
def test_a_listener_that_is_killed_costs_nothing(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """All of the server's connections are ended five times while events are committed."""
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only")
    total = 2000
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        seen: list[int] = []
        with committing(shop, total, each=10, pause_s=0.005):
            for goal in range(300, 1800, 300):
                seen += seqs(until_seq(frames, goal))
                assert end_other_connections() >= 1
        seen += seqs(until_seq(frames, total)) if seen[-1] < total else []
    assert seen == list(range(1, total + 1))


def end_other_connections() -> int:
    """Those that listen, and those that read for streams; not the writer's, which is at work."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND (query LIKE 'LISTEN%' OR query LIKE 'SELECT%')"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.postgres
def test_without_notifications_events_come_within_a_moment(
    server: Web, shop: Workspace, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler that swallows them."""
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only")
    from tasks.events import log

    monkeypatch.setattr(log, "_AND_TELL", {})
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        commit(shop)
        assert seqs(until(frames, "events")) == [1]


@both
def test_a_restart_sends_clients_to_their_cursor(
    transport: str, start_server: Callable[..., Any], shop: Workspace, headers: dict[str, str]
) -> None:
    what = f"workspaces/{shop.id}"
    with start_server() as old:
        client = CLIENTS[transport](old.port, what, headers)
        frames = iter(client)
        until(frames, "live")
        commit(shop, 3)
        seen = seqs(until_seq(frames, 3))
        old.tell(signal.SIGTERM)
        rest, code = closed_with(client)
        assert (words(rest), code) == ([], 1012 if transport == "ws" else 0)
        assert old.wait() == 0
        assert "Traceback" not in old.output
        client.drop()
    commit(shop, 3)
    with start_server() as new, CLIENTS[transport](new.port, what, headers, after=3) as client:
        seen += seqs(until(iter(client), "live"))
    assert seen == [1, 2, 3, 4, 5, 6]


def test_streams_hold_no_requests_up_and_requests_no_streams(
    start_server: Callable[..., Any], shop: Workspace, ada: User, headers: dict[str, str]
) -> None:
    """More open streams than requests are let in: both go on, and /health answers."""
    with start_server(CODEFRAME_MAX_REQUESTS="16") as server:
        what = f"workspaces/{shop.id}"
        clients = [CLIENTS["sse"](server.port, what, headers) for _ in range(20)]
        for client in clients:
            until(iter(client), "live")
        wire = CLIENTS["sse"].__mro__[1](_wire(server.port)).wire
        status = wire.request("/health", {"Host": f"127.0.0.1:{server.port}"})
        assert status == 200
        wire.socket.close()
        try:
            CLIENTS["sse"](server.port, what, headers).drop()
        except Refused as refused:
            raise AssertionError("the cap on requests is none on streams") from refused
        for client in clients:
            client.drop()


def _wire(port: int) -> Any:
    from tests.streams.client import Wire

    return Wire(port)
