"""Health is answered by the loop alone, also when every other request is refused."""

import asyncio
import json
from typing import Any

import pytest

from codeframe_site import asgi
from codeframe_site.limits import LIMITS


async def ask(path: str) -> tuple[int, dict[str, str], Any]:
    sent: list[dict[str, Any]] = []

    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        """The request, and then a client that stays until it has its answer."""
        return messages.pop() if messages else await asyncio.Future()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    await asgi.application(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], headers, json.loads(body)


def asked(path: str) -> tuple[int, dict[str, str], Any]:
    async def once() -> tuple[int, dict[str, str], Any]:
        try:
            return await ask(path)
        finally:
            asgi.MONITOR.stop()

    return asyncio.run(once())


def test_health_touches_neither_database_nor_thread() -> None:
    """Without the database mark, a query would fail the test."""
    status, headers, body = asked("/health")
    assert (status, body["status"]) == (200, "ok")
    assert headers["cache-control"] == "no-store"
    assert set(body["loop"]) >= {"p99_ms", "worst_ms", "spikes", "last_spike"}


def test_over_the_cap_a_request_is_told_to_come_back_and_health_still_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LIMITS, "under_way", LIMITS.cap)
    status, headers, body = asked("/api/v2/tasks")
    assert (status, headers["retry-after"]) == (503, "2")
    assert body["detail"]["code"] == "SERVICE_UNAVAILABLE"
    assert asked("/health")[0] == 200


@pytest.mark.django_db(transaction=True)
def test_a_request_gives_its_place_back_also_when_it_is_refused() -> None:
    before = LIMITS.under_way
    status, _, body = asked("/api/v2/tasks")
    assert (status, body["detail"]["code"]) == (401, "UNAUTHORIZED")
    assert LIMITS.under_way == before
