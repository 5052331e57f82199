"""One shape of error, from whatever layer it comes."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIRequest
from django.db import OperationalError, connection
from django.test import Client

from codeframe_site.models import Scope
from tasks.api.tasks import TasksView
from tasks.models import Task, Workspace
from tests.api.client import BASE, Api, code_of
from tests.api.rows import known_workspace
from tests.factories import make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def send(api: Api, body: bytes | str, kind: str = "application/json") -> tuple[int, Any]:
    """As it is, without a client that knows better."""
    data = body.encode() if isinstance(body, str) else body
    path, headers = f"{BASE}tasks", api.headers
    response = api.client.generic("POST", path, data, content_type=kind, headers=headers)
    return response.status_code, response.json()


@contextmanager
def queries_raise(error: Exception) -> Iterator[None]:
    def refuse(*_: Any) -> None:
        raise error

    with connection.execute_wrapper(refuse):
        yield


# -- the body ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [b"{", b'{"title": "a"', b"title=a", b"\xff\xfe", b"{'title': 'a'}", b"\xef\xbb\xbf{}"]
)
def test_what_is_not_json_is_400(api: Api, workspace: Workspace, body: bytes) -> None:
    assert code_of(send(api, body)) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "body",
    [
        b'{"title": "a", "estimated_hours": NaN}',
        b'{"title": "a", "estimated_hours": Infinity}',
        b'{"title": "a", "estimated_hours": 1e999}',
        b'{"title": "a", "priority": ' + b"9" * 5000 + b"}",
        b'{"title": "a", "priority": 99999999999999999999}',
        b'{"title": "a\\u0000b"}',
        b'{"title": "a\\ud800"}',
        b'{"title": "a", "\\udfff": 1}',
        b'{"title": "a", "\\u0000": 1}',
        b'{"title": "a", "depends_on": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"title": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b"[" * 100_000,
        b"[]",
        b'"text"',
        b"7",
        b"null",
        b'[{"title": "a"}]',
    ],
)
def test_json_that_nobody_can_keep_is_422(api: Api, workspace: Workspace, body: bytes) -> None:
    assert code_of(send(api, body)) == (422, "VALIDATION_ERROR")
    assert Task.objects.count() == 0


def test_a_body_of_more_than_2_mb_is_413(api: Api, workspace: Workspace) -> None:
    text = json.dumps({"title": "a", "description": "x" * (2 * 1024 * 1024)})
    assert code_of(send(api, text)) == (413, "INVALID_REQUEST")
    longest = json.dumps({"title": "a", "description": "é" * 200_000}, ensure_ascii=False)
    assert send(api, longest.encode())[0] == 201


def test_a_body_in_chunks_is_read_although_it_has_no_length(api: Api, workspace: Workspace) -> None:
    headers = [(b"x-api-key", api.headers["Authorization"].split()[1].encode())]
    headers += [(b"transfer-encoding", b"chunked"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b""}
    request = ASGIRequest(scope | {"headers": headers}, BytesIO(b'{"title": "in chunks"}'))
    response = TasksView.as_view()(request)
    assert response.status_code == 201
    assert Task.objects.get().title == "in chunks"


@pytest.mark.parametrize(
    "kind",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/xml",
        "application/json; charset=latin-1",
        "application/json; charset=bogus",
        "nonsense",
    ],
)
def test_another_kind_of_body_is_415(api: Api, workspace: Workspace, kind: str) -> None:
    assert code_of(send(api, b'{"title": "a"}', kind)) == (415, "INVALID_REQUEST")


def test_utf8_may_be_said(api: Api, workspace: Workspace) -> None:
    assert send(api, b'{"title": "a"}', 'application/json; charset="UTF-8"')[0] == 201


# -- the router ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["nothing", "tasks/", "tasks/7", "tasks/5d0c7e1a-1111-4111-8111-111111111111x", "tasks/%00"],
)
def test_a_path_that_does_not_exist_is_404(api: Api, path: str) -> None:
    assert code_of(api("GET", path)) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["tasks/%ff", "tasks/%ed%a0%80", "%2e%2e/admin"])
def test_bytes_that_are_no_text_are_a_path_that_does_not_exist(api: Api, path: str) -> None:
    assert code_of(api("GET", path)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "tasks"), ("DELETE", "tasks"), ("GET", "tasks/execute"), ("POST", "batches")],
)
def test_a_method_that_a_path_does_not_have_is_405(api: Api, method: str, path: str) -> None:
    assert code_of(api(method, path, {})) == (405, "INVALID_REQUEST")


def test_a_literal_route_is_not_taken_for_an_id(api: Api, workspace: Workspace) -> None:
    assert api.get("tasks/assignment-status")["can_assign"] is False


@pytest.mark.parametrize("name", ["workspace", "workspace_path"])
def test_nul_and_half_characters_in_the_query_are_422(api: Api, name: str) -> None:
    assert code_of(api("GET", f"tasks?{name}=a%00b")) == (422, "VALIDATION_ERROR")


# -- who is asking -------------------------------------------------------------------------------


def test_nobody_is_told_how_to_sign_in(db: None) -> None:
    response = Api().raw("GET", "tasks")
    assert code_of((response.status_code, response.json())) == (401, "UNAUTHORIZED")
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_too_low_a_scope_is_403(make_api: Callable[..., Api], workspace: Workspace) -> None:
    answer = make_api(Scope.READ)("POST", "tasks", {"title": "a"})
    assert code_of(answer) == (403, "FORBIDDEN")


def test_a_session_without_its_csrf_token_is_403(workspace: Workspace) -> None:
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    browser.force_login(User.objects.create_superuser("eve", password="x"))
    assert code_of(Api(client=browser)("POST", "tasks", {"title": "a"})) == (403, "FORBIDDEN")
    assert Task.objects.count() == 0


def test_too_many_requests_are_429_and_told_when_to_come_back(
    api: Api, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_rates(), "write", "2/min")
    for _ in range(2):
        assert api("POST", "tasks", {"title": "a"})[0] == 201
    response = api.raw("POST", "tasks", {"title": "a"})
    assert code_of((response.status_code, response.json())) == (429, "RATE_LIMITED")
    assert 0 < int(response.headers["Retry-After"]) <= 61
    assert api("GET", "tasks")[0] == 200


def _rates() -> Any:
    from codeframe_site.throttles import CallThrottle

    return CallThrottle.THROTTLE_RATES


# -- what breaks ---------------------------------------------------------------------------------


def test_a_database_that_is_gone_is_503(api: Api, workspace: Workspace) -> None:
    with queries_raise(OperationalError("connection to 10.0.0.7 refused")):
        response = api.raw("GET", "tasks")
    assert code_of((response.status_code, response.json())) == (503, "SERVICE_UNAVAILABLE")
    assert "10.0.0.7" not in response.text
    assert int(response.headers["Retry-After"]) > 0


def test_our_own_fault_is_500_with_a_reference_and_leaks_nothing(
    api: Api, workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), queries_raise(RuntimeError("the key is hunter2")):
        response = api.raw("GET", "tasks")
    body = response.json()
    assert code_of((response.status_code, body)) == (500, "INTERNAL_ERROR")
    assert "hunter2" not in response.text
    assert "Traceback" not in response.text
    reference = body["detail"]["detail"].rsplit(" ", 1)[1]
    assert reference in caplog.text
    assert "hunter2" in caplog.text


def test_a_row_that_goes_away_meanwhile_is_404(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a")
    path = f"tasks/{task.id}"

    def delete_before_the_lock(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SELECT") and "tasks_task" in sql and "tasks_workspace" not in sql:
            execute("DELETE FROM tasks_task", None, *rest[1:])
        return execute(sql, *rest)

    with connection.execute_wrapper(delete_before_the_lock):
        answer = api("PATCH", path, {"title": "b"})
    assert code_of(answer) == (404, "NOT_FOUND")


def test_a_host_that_is_not_ours_is_400(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["ours.example"]
    response = Client(raise_request_exception=False).get(f"{BASE}tasks", headers={"Host": "evil"})
    assert code_of((response.status_code, response.json())) == (400, "INVALID_REQUEST")


def test_whatever_the_caller_accepts_it_gets_json(api: Api, workspace: Workspace) -> None:
    response = api.raw("GET", "tasks", Accept="text/html")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
