"""Connections to PostgreSQL: few, whatever the number of requests; none for who only waits."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection, connections
from pytest_django import Settings

from batches.models.batch import BatchStatus
from codeframe_site.connections import keep_own, pool_size, share_a_pool
from codeframe_site.models import Scope
from codeframe_site.tokens import make_token
from tasks.models import Task
from tests.api.client import person
from tests.api.rows import known_workspace
from tests.codeframe_site.outage import door
from tests.codeframe_site.rows import batch_row, run_row
from tests.codeframe_site.server_process import Web, eventually, web
from tests.factories import make_task
from tests.faults.world import database_url

on_postgresql = [
    pytest.mark.postgres,
    pytest.mark.acceptance,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="a pool is PostgreSQL's"),
]
NAME = "codeframe-under-test"


@pytest.mark.parametrize(("requests", "size"), [(1, 2), (8, 2), (64, 16), (65, 17), (400, 100)])
def test_the_pool_grows_with_the_cap_on_requests(requests: int, size: int) -> None:
    assert pool_size(requests) == size


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    row = {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {}, "CONN_MAX_AGE": 5}
    monkeypatch.setitem(connections.settings, "default", row)
    return row


def test_the_web_process_pools_and_the_worker_keeps_its_own(
    row: dict[str, Any], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.register_at_fork", lambda **_: None)
    settings.MAX_REQUESTS = 40
    keep_own()
    assert (row["CONN_MAX_AGE"], row["OPTIONS"]) == (600, {})
    share_a_pool()
    assert (row["CONN_MAX_AGE"], row["OPTIONS"]["pool"]["max_size"]) == (0, 10)


def test_sqlite_has_neither(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    row["ENGINE"] = "django.db.backends.sqlite3"
    share_a_pool()
    assert row["OPTIONS"] == {}


# -- the real thing ------------------------------------------------------------------------------


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Web]]:
    with ExitStack() as stack:

        def start(**more: str) -> Web:
            url = f"{database_url()}?application_name={NAME}"
            return stack.enter_context(web(tmp_path, **{"DATABASE_URL": url} | more))

        yield start


def key() -> str:
    return make_token(user=person("ada", superuser=True), name="t", scope=Scope.WRITE)[1]


def held(and_where: str = "true") -> int:
    """Connections of the server, as the database counts them."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND {and_where}",
            [NAME],
        )
        return int(cursor.fetchone()[0])


def ask(
    port: int, method: str, path: str, key: str = "", body: Any = None, **headers: str
) -> tuple[int, str, Any]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    given = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    client.request(method, path, body and json.dumps(body), given | headers)
    response = client.getresponse()
    answer = json.loads(response.read())
    client.close()
    return response.status, response.headers.get("Retry-After", ""), answer


class Asking(threading.Thread):
    def __init__(self, *words: Any, **headers: str) -> None:
        super().__init__(daemon=True)
        self.status = 0
        self._what = words, headers
        self.start()

    def run(self) -> None:
        words, headers = self._what
        self.status = ask(*words, **headers)[0]


class TestServed:
    pytestmark = on_postgresql

    def test_a_hundred_requests_share_a_few_connections(self, serve: Callable[..., Web]) -> None:
        known_workspace()
        token = key()
        port = serve(CODEFRAME_MAX_REQUESTS="100").port
        asking = [Asking(port, "GET", "/api/v2/tasks", token) for _ in range(100)]
        most = 0
        while any(one.is_alive() for one in asking):
            most = max(most, held())
        assert [one.status for one in asking] == [200] * 100
        assert 1 <= most <= pool_size(100)

    def test_who_waits_holds_none(self, serve: Callable[..., Web]) -> None:
        """More wait than there are connections, and others are answered."""
        run = run_row(batch_row(known_workspace(), BatchStatus.RUNNING), "RUNNING")
        token = key()
        port = serve(CODEFRAME_MAX_REQUESTS="10", CODEFRAME_MAX_WAITERS="8").port
        stop = f"/api/v2/runs/{run.id}/stop"
        waiting = [Asking(port, "POST", stop, token, None, Prefer="wait=9") for _ in range(8)]
        eventually(lambda: under_way(port) >= 8, "all of them wait")
        for _ in range(20):
            assert ask(port, "GET", "/api/v2/tasks", token)[0] == 200
        assert all(one.is_alive() for one in waiting)
        assert held() <= pool_size(10) == 3
        for one in waiting:
            one.join(60)

    @pytest.mark.parametrize("meanwhile", ["asked", "left alone"])
    def test_requests_work_soon_after_the_database_is_back(
        self, serve: Callable[..., Web], meanwhile: str
    ) -> None:
        known_workspace()
        token = key()
        url = urlsplit(database_url())
        with door(str(url.hostname), url.port or 5432) as there:
            through = url._replace(netloc=f"{url.username}@127.0.0.1:{there.port}").geturl()
            port = serve(DATABASE_URL=through).port
            assert ask(port, "GET", "/api/v2/tasks", token)[0] == 200
            there.shut()
            asking = [Asking(port, "GET", "/api/v2/tasks", token) for _ in range(2)]
            for one in asking:
                one.join(60)
            assert {one.status for one in asking} == {503}
            if meanwhile == "asked":
                assert ask(port, "GET", "/api/v2/tasks", token)[0] == 503
            there.open()
            back = time.monotonic()
            eventually(lambda: ask(port, "GET", "/api/v2/tasks", token)[0] == 200, "it works")
            assert time.monotonic() - back < 2.5

    def test_who_waits_is_answered_when_the_database_comes_back(
        self, serve: Callable[..., Web]
    ) -> None:
        known_workspace()
        token = key()
        url = urlsplit(database_url())
        with door(str(url.hostname), url.port or 5432) as there:
            through = url._replace(netloc=f"{url.username}@127.0.0.1:{there.port}").geturl()
            server = serve(DATABASE_URL=through)
            assert ask(server.port, "GET", "/api/v2/tasks", token)[0] == 200
            there.shut()
            assert ask(server.port, "GET", "/api/v2/tasks", token)[0] == 503
            # Some take a connection that is dead; the others wait for one.
            asking = [Asking(server.port, "GET", "/api/v2/tasks", token) for _ in range(5)]
            eventually(lambda: "reconnection attempt" in server.output, "the pool gave up once")
            there.open()
            for one in asking:
                one.join(60)
            assert 200 in {one.status for one in asking}

    def test_no_free_connection_is_503_with_a_time_to_come_back(
        self, serve: Callable[..., Web]
    ) -> None:
        """All of them wait for a row that somebody else has locked."""
        task = make_task(known_workspace(), "a")
        token = key()
        port = serve(CODEFRAME_MAX_REQUESTS="8").port
        path = f"/api/v2/tasks/{task.id}"
        with locked(task):
            stuck = [Asking(port, "PATCH", path, token, {"title": "b"}) for _ in range(2)]
            eventually(lambda: held("wait_event_type = 'Lock'") == 2, "both hold a connection")
            status, retry, body = ask(port, "GET", "/api/v2/tasks", token)
            assert (status, retry) == (503, "2")
            assert body["detail"]["code"] == "SERVICE_UNAVAILABLE"
            assert ask(port, "GET", "/health")[0] == 200
        for one in stuck:
            one.join(60)
        assert [one.status for one in stuck] == [200, 200]
        assert ask(port, "GET", "/api/v2/tasks", token)[0] == 200


def under_way(port: int) -> int:
    return int(ask(port, "GET", "/health")[2]["requests"]["under_way"])


@contextmanager
def locked(task: Task) -> Iterator[None]:
    """By somebody else: within a transaction of one's own, the database's view of itself stands."""
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM tasks_task WHERE id = %s FOR UPDATE", [task.id])
        yield
    finally:
        other.rollback()
        other.close()
