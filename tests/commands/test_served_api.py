"""The API as it is served: real web processes, a real worker, agents that wait for us."""

import http.client
import json
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.commands.site import Site, Started, wait_for

pytestmark = pytest.mark.acceptance
Answer = tuple[int, Any]


class Served:
    """A web process of the site, and a program that asks it."""

    def __init__(self, site: Site, key: str) -> None:
        self.process = site.start("web", "--port", "0")
        self._key = key
        found = wait_for(lambda: re.search(r"127\.0\.0\.1:(\d+)/", self.process.out), "it serves")
        self.port = int(found[1])

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            data = None if body is None else json.dumps(body)
            given = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request(method, path, data, given | headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def batch(self, batch_id: str) -> Any:
        return self("GET", f"/api/v2/batches/{batch_id}")[1]


class Call(threading.Thread):
    """A request in flight."""

    def __init__(self, served: Served, *words: Any, **headers: str) -> None:
        super().__init__(daemon=True)
        self.answer: Answer | None = None
        self._what = served, words, headers
        self.start()

    def run(self) -> None:
        served, words, headers = self._what
        self.answer = served(*words, **headers)


@pytest.fixture
def key(shop: Site) -> str:
    name = ("--username", "ada", "--email", "ada@example.org")
    shop.good("createsuperuser", "--noinput", *name)
    return shop.good("token", "create", "ada", "--scope", "write").out.strip()


@pytest.fixture
def served(shop: Site, key: str) -> Served:
    return Served(shop, key)


@pytest.fixture
def worker(shop: Site) -> Started:
    started = shop.start("worker")
    wait_for(lambda: "ready" in started.out + started.err, "the worker is ready")
    return started


@pytest.mark.usefixtures("worker")
def test_everything_answers_while_a_batch_runs_and_after_it_the_next_may_start(
    shop: Site, served: Served, tmp_path: Path
) -> None:
    go, began = tmp_path / "go", tmp_path / "began"
    shop.add_task("shop", "slow", f"touch {began}", f"wait-file {go}", "write slow.txt done")
    later = shop.add_task("shop", "later", ready=False)
    status, started = served("POST", "/api/v2/tasks/execute", {})
    assert (status, started["task_count"]) == (200, 1)
    batch = f"/api/v2/batches/{started['batch_id']}"
    wait_for(began.exists, "the agent is at work")

    waiting = Call(served, "POST", f"{batch}/stop", {"force": False}, Prefer="wait=30")
    wait_for(lambda: served("GET", "/health")[1]["requests"]["under_way"], "it is in flight")
    assert served("GET", "/health")[1]["status"] == "ok"
    assert served("GET", batch)[1]["status"] in ("RUNNING", "CANCELLING")
    status, refused = served("POST", "/api/v2/tasks/approve", {"start_execution": True})
    assert (status, refused["detail"]["code"]) == (409, "CONFLICT")
    assert started["batch_id"][:8] in refused["detail"]["detail"]
    assert served("GET", f"/api/v2/tasks/{later[:8]}")[1]["status"] == "BACKLOG"
    assert served("POST", "/api/v2/tasks/execute", {})[0] == 409
    assert waiting.answer is None, "the first request is still waiting"

    go.touch()
    waiting.join(60)
    assert waiting.answer is not None
    status, ended = waiting.answer
    assert status == 200
    assert ended["counts"]["completed"] == 1
    assert served("POST", "/api/v2/tasks/approve", {"start_execution": True})[0] == 200
    wait_for(lambda: shop.batch_in("COMPLETED"), "the next batch has run")


def test_of_many_starts_in_two_processes_exactly_one_is_admitted(
    shop: Site, served: Served, key: str
) -> None:
    shop.add_task("shop", "a")
    other = Served(shop, key)
    calls = [
        Call(way, "POST", "/api/v2/tasks/execute", {}) for way in (served, other) for _ in range(10)
    ]
    for call in calls:
        call.join(60)
    answers = [call.answer for call in calls if call.answer]
    assert Counter(status for status, _ in answers) == {200: 1, 409: 19}
    (batch_id,) = (body["batch_id"] for status, body in answers if status == 200)
    told = [body["detail"]["detail"] for status, body in answers if status == 409]
    assert all(batch_id[:8] in text for text in told)
    assert shop.rows("SELECT count(*) FROM batches_batch") == [(1,)]


@pytest.mark.usefixtures("worker")
def test_a_runner_that_fails_ends_its_batch_as_failed_and_the_next_may_start(
    shop: Site, served: Served
) -> None:
    shop.add_task("shop", "a", "exit 3")
    first = served("POST", "/api/v2/tasks/execute", {})[1]["batch_id"]
    ended = wait_for(lambda: served.batch(first)["completed_at"] and served.batch(first), "it ends")
    assert (ended["status"], ended["counts"]["failed"]) == ("FAILED", 1)
    assert [result["reason"] for result in ended["results"].values()] == ["engine_error"]
    shop.add_task("shop", "b")
    assert served("POST", "/api/v2/tasks/execute", {})[0] == 200
