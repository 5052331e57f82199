"""Who may open a stream, from where, how many, and how long."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils import timezone

from batches.models.run import RunStatus
from codeframe_site.models import ApiToken
from codeframe_site.tickets import SALT, make_ticket
from codeframe_site.tokens import make_token, revoke_token
from tasks.models import Membership, Task, Workspace
from tests.codeframe_site.rows import batch_row, run_row, workspace_row
from tests.codeframe_site.server_process import Web
from tests.streams.client import CLIENTS, Refused
from tests.streams.reading import closed_with, seqs, until, words
from tests.streams.writing import commit

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.parametrize("transport", CLIENTS)


def refusal(transport: str, *args: Any, **query: Any) -> int:
    """The status, or the close code without its 4000."""
    try:
        with CLIENTS[transport](*args, **query) as client:
            frames, code = closed_with(client)
    except Refused as refused:
        if transport == "ws":  # a handshake that is no good in itself
            return refused.code
        error = json.loads(refused.body)["detail"]
        assert {"error", "code", "detail"} <= set(error)
        return refused.code
    assert frames == []
    return code - 4000


@pytest.fixture
def grace(transactional_db: None) -> User:
    return User.objects.create_user("grace")


@pytest.fixture
def session(ada: User) -> dict[str, str]:
    browser = Client()
    browser.force_login(ada)
    return {"Cookie": f"sessionid={browser.cookies['sessionid'].value}"}


def bearer(user: User, **how: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(user=user, name='test', **how)[1]}"}


@both
def test_nobody_and_wrong_keys_are_told_to_sign_in(
    transport: str, server: Web, shop: Workspace, ada: User
) -> None:
    what = f"workspaces/{shop.id}"
    for headers in (
        {},
        {"Authorization": "Bearer cf_nothing"},
        {"X-API-Key": "x" * 5000},
        {"Cookie": "sessionid=abc"},
        {"Cookie": "sessionid=\xe9"},
    ):
        assert refusal(transport, server.port, what, headers) == 401, headers
    for ticket in ("", "x", "y" * 5000):
        assert refusal(transport, server.port, what, {}, ticket=ticket) == 401
    other = make_ticket(user_id=ada.pk, workspace_id=shop.id, purpose="terminal")
    assert refusal(transport, server.port, what, {}, ticket=other) == 401


@both
def test_a_key_in_either_header_a_session_and_a_ticket_open_it(
    transport: str,
    server: Web,
    shop: Workspace,
    headers: dict[str, str],
    session: dict[str, str],
    client: Client,
) -> None:
    key = headers["Authorization"].split()[1]
    what = f"workspaces/{shop.id}"
    answer = client.post(
        f"/api/v2/stream-ticket?workspace={shop.id}", {}, "application/json", headers=headers
    )
    ours = {"Origin": f"http://127.0.0.1:{server.port}"}
    for given, query in (
        (headers, {}),
        ({"X-API-Key": key}, {}),
        (session, {}),
        (session | ours, {}),
        ({}, {"ticket": answer.json()["ticket"]}),
    ):
        with CLIENTS[transport](server.port, what, given, **query) as stream:
            assert words(until(iter(stream), "live")) == ["hello", "live"]


@both
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "file://", "x", ""],
)
def test_a_foreign_origin_is_refused_whoever_asks(
    transport: str,
    origin: str,
    server: Web,
    shop: Workspace,
    session: dict[str, str],
    headers: dict[str, str],
) -> None:
    for given in (session, headers):
        asked = given | {"Origin": origin}
        status = refusal(transport, server.port, f"workspaces/{shop.id}", asked)
        assert status in ((400, 403) if transport == "ws" else (403,))


def test_a_page_elsewhere_that_opens_a_stream_is_refused(
    server: Web, shop: Workspace, session: dict[str, str]
) -> None:
    """A browser sends no Origin with such a request, but says what kind it is."""
    asked = session | {"Sec-Fetch-Site": "cross-site"}
    assert refusal("sse", server.port, f"workspaces/{shop.id}", asked) == 403


@both
def test_a_foreign_host_is_refused(
    transport: str, server: Web, shop: Workspace, session: dict[str, str]
) -> None:
    """DNS rebinding: Origin and Host agree, and both are foreign."""
    asked = session | {"Host": "evil.example", "Origin": "http://evil.example"}
    assert refusal(transport, server.port, f"workspaces/{shop.id}", asked) == 400


@both
def test_what_one_may_not_see_is_not_there(
    transport: str, server: Web, shop: Workspace, grace: User
) -> None:
    task = Task.objects.create(workspace=shop, title="x")
    batch = batch_row(shop)
    run = run_row(batch, RunStatus.RUNNING, task=task)
    mine = workspace_row("mine")
    Membership.objects.create(workspace=mine, user=grace, role="viewer")
    rows = {"workspaces": shop, "batches": batch, "runs": run, "tasks": task}
    for name, row in rows.items():
        for number in (row.id, uuid4()):
            what = f"{name}/{number}"
            assert refusal(transport, server.port, what, bearer(grace)) == 404, name
    limited = bearer(User.objects.create_superuser("hopper"), workspaces=[mine])
    assert refusal(transport, server.port, f"workspaces/{shop.id}", limited) == 404
    token, _ = make_token(user=grace, name="t")
    ticket = make_ticket(
        user_id=grace.pk, workspace_id=mine.id, purpose="events", token_id=token.id
    )
    assert refusal(transport, server.port, f"batches/{batch.id}", {}, ticket=ticket) == 404
    with CLIENTS[transport](server.port, f"workspaces/{mine.id}", bearer(grace)) as client:
        assert words(until(iter(client), "live")) == ["hello", "live"]


@both
@pytest.mark.parametrize("after", ["x", "-1", "1.5", "\x00", "9" * 30, "١"])
def test_a_cursor_that_is_no_number_is_refused(
    transport: str, after: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    what = f"workspaces/{shop.id}"
    assert refusal(transport, server.port, what, headers, after=after) == 422


def _revoke(user: User, shop: Workspace) -> None:
    for token in ApiToken.objects.all():
        revoke_token(token, by="test")


def _expire(user: User, shop: Workspace) -> None:
    ApiToken.objects.update(expires_at=timezone.now())


def _leave(user: User, shop: Workspace) -> None:
    Membership.objects.all().delete()


def _switch_off(user: User, shop: Workspace) -> None:
    User.objects.update(is_active=False)


def _delete(user: User, shop: Workspace) -> None:
    Workspace.objects.all().delete()


def _nothing(user: User, shop: Workspace) -> None:
    return None


@both
@pytest.mark.parametrize(
    ("change", "code"),
    [(_revoke, 4401), (_expire, 4401), (_switch_off, 4401), (_leave, 4404), (_delete, 4404)],
)
def test_who_may_no_longer_see_it_is_sent_away_soon(
    transport: str,
    change: Callable[[User, Workspace], None],
    code: int,
    server: Web,
    shop: Workspace,
    grace: User,
) -> None:
    Membership.objects.create(workspace=shop, user=grace, role="viewer")
    given = bearer(grace)
    with CLIENTS[transport](server.port, f"workspaces/{shop.id}", given) as client:
        frames = iter(client)
        until(frames, "live")
        change(grace, shop)
        assert words(frames) == []
        assert client.code == (code if transport == "ws" else 0)


def _sign_out(user: User, session: dict[str, str]) -> None:
    browser = Client()
    browser.cookies[settings.SESSION_COOKIE_NAME] = session["Cookie"].partition("=")[2]
    browser.logout()


def _change_password(user: User, session: dict[str, str]) -> None:
    user.set_password("y")
    user.save()


@pytest.mark.parametrize("change", [_sign_out, _change_password])
def test_a_session_that_ends_takes_its_streams_along(
    change: Callable[[User, dict[str, str]], None],
    server: Web,
    shop: Workspace,
    ada: User,
    session: dict[str, str],
) -> None:
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", session) as client:
        frames = iter(client)
        until(frames, "live")
        change(ada, session)
        assert (words(frames), client.code) == ([], 4401)


@pytest.mark.parametrize("change", [_sign_out, _change_password])
def test_a_ticket_ends_with_the_session_it_was_made_in(
    change: Callable[[User, dict[str, str]], None],
    server: Web,
    shop: Workspace,
    ada: User,
    session: dict[str, str],
) -> None:
    path = f"/api/v2/stream-ticket?workspace={shop.id}"
    answer = Client().post(path, {}, "application/json", headers=session)
    ticket = answer.json()["ticket"]
    key = session["Cookie"].partition("=")[2]
    assert key not in str(signing.loads(ticket, salt=SALT))
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", {}, ticket=ticket) as client:
        frames = iter(client)
        until(frames, "live")
        change(ada, session)
        assert (words(frames), client.code) == ([], 4401)
    assert refusal("ws", server.port, f"workspaces/{shop.id}", {}, ticket=ticket) == 401


def test_a_ticket_ends_with_the_token_it_was_made_with(
    server: Web, shop: Workspace, ada: User
) -> None:
    token, _ = make_token(user=ada, name="test")
    ticket = make_ticket(user_id=ada.pk, workspace_id=shop.id, purpose="events", token_id=token.id)
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", {}, ticket=ticket) as client:
        frames = iter(client)
        until(frames, "live")
        revoke_token(token, by="test")
        assert (words(frames), client.code) == ([], 4401)
    assert refusal("ws", server.port, f"workspaces/{shop.id}", {}, ticket=ticket) == 401


def test_the_others_stay(server: Web, shop: Workspace, ada: User, grace: User) -> None:
    """One person's revoked token ends no stream of another token."""
    Membership.objects.create(workspace=shop, user=grace, role="viewer")
    token, key = make_token(user=grace, name="gone")
    what = f"workspaces/{shop.id}"
    with (
        CLIENTS["ws"](server.port, what, {"X-API-Key": key}) as gone,
        CLIENTS["ws"](server.port, what, bearer(grace)) as stays,
    ):
        stay = iter(stays)
        until(stay, "live")
        revoke_token(token, by="test")
        assert closed_with(gone)[1] == 4401
        commit(shop)
        assert seqs(until(stay, "events")) == [1]


@pytest.fixture(scope="module")
def small(start_server: Callable[..., Any]) -> Iterator[Web]:
    caps = {"CODEFRAME_MAX_STREAMS": "3", "CODEFRAME_MAX_STREAMS_PER_USER": "2"}
    with start_server(**caps) as started:
        yield started


@both
def test_more_streams_than_allowed_are_refused_until_one_ends(
    transport: str, small: Web, shop: Workspace, headers: dict[str, str], grace: User
) -> None:
    Membership.objects.create(workspace=shop, user=grace, role="viewer")
    what, open_ = f"workspaces/{shop.id}", CLIENTS[transport]
    first, second = (open_(small.port, what, headers) for _ in range(2))
    for client in (first, second):
        until(iter(client), "live")
    assert refusal(transport, small.port, what, headers) == 429
    with open_(small.port, what, bearer(grace)) as third:
        until(iter(third), "live")
        assert refusal(transport, small.port, what, bearer(grace)) == 429
    first.drop()
    _until_let_in(lambda: open_(small.port, what, headers))
    second.drop()


def _until_let_in(make: Callable[[], Any]) -> None:
    """The server hears of a drop a moment later."""
    for _ in range(200):
        try:
            with make() as client:
                if any(frame["type"] == "live" for frame in _first_two(client)):
                    return
        except Refused:
            continue
    raise AssertionError("never let in again")


def _first_two(client: Any) -> list[dict[str, Any]]:
    found = []
    for frame in client:
        found.append(frame)
        if len(found) == 2:
            break
    return found
