from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from codeframe_site import tickets
from codeframe_site.models import ApiToken, Scope
from codeframe_site.tokens import make_token
from tasks.models import AuditEntry, Workspace
from tests.api.client import Api, code_of, person
from tests.api.rows import known_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(make_api: Callable[..., Api]) -> Api:
    return make_api(Scope.ADMIN)


def test_a_key_is_shown_once_and_kept_nowhere(admin: Api) -> None:
    asked = {"name": "nightly", "scope": "write", "expires_in_days": 90}
    body = admin.post("tokens", asked, status=201)
    assert (body["name"], body["scope"], body["limited"]) == ("nightly", "write", False)
    assert body["key"].startswith(body["hint"])
    row = ApiToken.objects.get(id=body["id"])
    assert body["key"] not in str(ApiToken.objects.values_list())
    assert timedelta(days=89) < row.expires_at - timezone.now() < timedelta(days=91)
    assert "key" not in admin.get("tokens")["tokens"][0]
    assert body["key"] not in str(AuditEntry.objects.values_list())
    assert AuditEntry.objects.filter(action="token.create", subject=body["id"]).count() == 1


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
def test_either_header_will_do(header: str) -> None:
    known_workspace()
    _, key = make_token(user=person("ada", superuser=True), name="t")
    value = f"bearer {key}" if header == "Authorization" else key
    assert Api(**{header: value}).get("tasks")["total"] == 0


def test_its_last_use_is_written_down_at_most_once_a_minute(admin: Api) -> None:
    token = ApiToken.objects.get()
    admin.get("tokens")
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    admin.get("tokens")
    token.refresh_from_db()
    assert token.last_used_at == first


def test_a_revoked_token_is_useless_at_once(admin: Api) -> None:
    body = admin.post("tokens", {"name": "a", "scope": "admin"}, status=201)
    other = Api(body["key"])
    assert other("GET", "tokens")[0] == 200
    assert admin("DELETE", f"tokens/{body['id']}")[1] == {"id": body["id"], "revoked": True}
    assert code_of(other("GET", "tokens")) == (401, "UNAUTHORIZED")
    assert admin("DELETE", f"tokens/{body['id']}")[0] == 200
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1
    names = [t["name"] for t in admin.get("tokens?revoked=true")["tokens"]]
    assert names == ["a"]
    assert [t["name"] for t in admin.get("tokens?revoked=false")["tokens"]] == ["test"]


def useless(token: ApiToken) -> dict[str, Callable[[], Any]]:
    past = timezone.now() - timedelta(seconds=1)
    rows = ApiToken.objects.filter(id=token.id)
    return {
        "expired": lambda: rows.update(expires_at=past),
        "revoked": lambda: rows.update(revoked_at=past),
        "person switched off": lambda: type(token.user).objects.update(is_active=False),
        "deleted": rows.delete,
    }


@pytest.mark.parametrize("how", ["expired", "revoked", "person switched off", "deleted"])
def test_a_token_that_is_over_is_401(admin: Api, how: str) -> None:
    useless(ApiToken.objects.get())[how]()
    assert code_of(admin("GET", "tokens")) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("key", ["x", "cf_", "cf_" + "A" * 43, "é" * 20, "x" * 5000, "a b c"])
def test_a_key_that_is_none_is_401(db: None, key: str) -> None:
    headers = {"X-API-Key": key.encode().decode("latin-1")}
    response = Client().get("/api/v2/tasks", headers=headers)
    assert code_of((response.status_code, response.json())) == (401, "UNAUTHORIZED")


def test_a_wrong_token_is_not_saved_by_a_session(db: None) -> None:
    browser = Client()
    browser.force_login(person("ada", superuser=True))
    assert code_of(Api("cf_wrong", client=browser)("GET", "tokens")) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"scope": "root"},
        {"expires_in_days": 0},
        {"expires_in_days": 10**9},
        {"workspace_ids": []},
        {"workspace_ids": ["x"]},
        {"user": 1},
    ],
)
def test_a_bad_value_is_422(admin: Api, wrong: dict[str, Any]) -> None:
    assert code_of(admin("POST", "tokens", {"name": "a"} | wrong)) == (422, "VALIDATION_ERROR")
    assert ApiToken.objects.count() == 1


def test_a_limited_token_sees_its_workspaces_alone(admin: Api) -> None:
    one, two = known_workspace("one"), known_workspace("two")
    asked = {"name": "a", "workspace_ids": [str(one.id)]}
    limited = Api(admin.post("tokens", asked, status=201)["key"])
    assert [w["name"] for w in limited.get("workspaces")["workspaces"]] == ["one"]
    assert code_of(limited("GET", f"workspaces/{two.id}")) == (404, "NOT_FOUND")
    one.delete()
    assert limited.get("workspaces")["workspaces"] == []


def test_no_token_makes_one_that_may_more(admin: Api) -> None:
    one, two = known_workspace("one"), known_workspace("two")
    asked = {
        "name": "a",
        "scope": "admin",
        "workspace_ids": [str(one.id)],
        "expires_in_days": 2,
    }
    maker = Api(admin.post("tokens", asked, status=201)["key"])
    body = maker.post("tokens", {"name": "b", "expires_in_days": 99}, status=201)
    assert body["limited"] is True
    assert ApiToken.objects.get(id=body["id"]).expires_at < timezone.now() + timedelta(days=3)
    assert [w["name"] for w in Api(body["key"]).get("workspaces")["workspaces"]] == ["one"]
    beyond = {"name": "c", "workspace_ids": [str(two.id)]}
    assert code_of(maker("POST", "tokens", beyond)) == (404, "NOT_FOUND")
    assert maker.post("tokens", {"name": "d"}, status=201)["expires_at"] is not None


def test_a_limited_token_reaches_no_token_beyond_its_limits(admin: Api) -> None:
    one, two = known_workspace("one"), known_workspace("two")

    def token(name: str, *workspaces: Workspace) -> dict[str, Any]:
        asked: dict[str, Any] = {"name": name, "scope": "admin"}
        if workspaces:
            asked["workspace_ids"] = [str(workspace.id) for workspace in workspaces]
        return dict(admin.post("tokens", asked, status=201))

    mine, same = token("mine", one), token("same", one)
    beyond = [token("other", two), token("both", one, two), token("all")]
    limited = Api(mine["key"])
    assert {t["name"] for t in limited.get("tokens")["tokens"]} == {"mine", "same"}
    for row in beyond:
        assert code_of(limited("DELETE", f"tokens/{row['id']}")) == (404, "NOT_FOUND")
    assert not ApiToken.objects.filter(revoked_at__isnull=False).exists()
    for row in (same, mine):
        assert limited("DELETE", f"tokens/{row['id']}")[0] == 200


def test_a_limited_token_registers_no_workspace(admin: Api) -> None:
    asked = {"name": "a", "scope": "admin", "workspace_ids": [str(known_workspace("one").id)]}
    limited = Api(admin.post("tokens", asked, status=201)["key"])
    answer = limited("POST", "workspaces", {"repo_path": "/srv/repos/shop"})
    assert code_of(answer) == (403, "FORBIDDEN")
    assert Workspace.objects.count() == 1


def test_tokens_of_others_are_not_there(admin: Api, make_api: Callable[..., Api]) -> None:
    make_api(Scope.READ, name="bob")
    theirs = ApiToken.objects.get(user__username="bob")
    assert len(admin.get("tokens")["tokens"]) == 1
    assert code_of(admin("DELETE", f"tokens/{theirs.id}")) == (404, "NOT_FOUND")


# -- stream tickets ------------------------------------------------------------------------------


def test_a_ticket_opens_what_it_was_made_for(api: Api) -> None:
    workspace = known_workspace()
    body = api.post("stream-ticket", {"purpose": "events"}, status=201)
    ticket = tickets.read_ticket(body["ticket"], purpose="events")
    maker = ApiToken.objects.get()
    assert ticket == tickets.Ticket(person("ada").pk, workspace.id, "events", maker.id)
    assert body["expires_in"] == tickets.TICKET_SECONDS
    assert tickets.read_ticket(body["ticket"], purpose="terminal") is None
    assert tickets.read_ticket(body["ticket"] + "x", purpose="events") is None
    assert code_of(api("POST", "stream-ticket", {"purpose": "all"})) == (422, "VALIDATION_ERROR")


def test_an_old_ticket_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(name="x")
    text = tickets.make_ticket(user_id=1, workspace_id=workspace.id, purpose="events")
    monkeypatch.setattr(tickets, "TICKET_SECONDS", -1)
    assert tickets.read_ticket(text, purpose="events") is None


@pytest.mark.parametrize("value", [[1], [1, "x", "events"], "text", None, [None, None, None]])
def test_a_signed_ticket_of_another_shape_is_refused(value: object) -> None:
    text = signing.dumps(value, salt=tickets.SALT)
    assert tickets.read_ticket(text, purpose="events") is None
