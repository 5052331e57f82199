"""Registering, naming, sharing and forgetting workspaces; tokens of programs."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from codeframe_site.models import ApiToken
from codeframe_site.tokens import find_token
from tasks.models import Membership, Workspace
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, workspace_row
from tests.repos import make_repository


@pytest.fixture
def page(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def test_a_repository_below_the_roots_is_registered(
    page: Client, tmp_path: Path, settings: pytest.FixtureRequest
) -> None:
    settings.WORKSPACE_ROOTS = [str(tmp_path)]  # type: ignore[attr-defined]
    path = make_repository(tmp_path / "shop", {"a": "b"})
    response = page.post("/workspaces/new/", {"repo_path": str(path)}, follow=True)
    workspace = Workspace.objects.get()
    assert response.redirect_chain == [(f"/workspaces/{workspace.id}/", 302)]
    assert Membership.objects.get().role == "admin"
    again = page.post("/workspaces/new/", {"repo_path": str(path)})
    assert again.status_code == 422
    assert "is registered already, as shop" in html(again)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/etc", "outside of the folders"),
        ("{root}/../..", "outside of the folders"),
        ("{root}/link", "outside of the folders"),
        ("{root}/nothing", "there is no such folder"),
        ("{root}", "not a git repository"),
        ("", "required"),
        ("a\0b", "Null characters"),
    ],
)
def test_what_cannot_be_registered_is_told_at_the_field(
    page: Client, tmp_path: Path, settings: pytest.FixtureRequest, path: str, told: str
) -> None:
    settings.WORKSPACE_ROOTS = [str(tmp_path)]  # type: ignore[attr-defined]
    (tmp_path / "link").symlink_to("/usr")
    response = page.post("/workspaces/new/", {"repo_path": path.format(root=tmp_path)})
    assert response.status_code == 422
    field = html(response).split('class="field bad"')[1].split("</div>")[0]
    assert told in field
    assert not Workspace.objects.exists()


def test_without_roots_the_page_says_what_to_do(
    page: Client, settings: pytest.FixtureRequest
) -> None:
    settings.WORKSPACE_ROOTS = []  # type: ignore[attr-defined]
    assert "manage.py workspace add" in html(page.get("/workspaces/new/"))


def test_settings_are_changed_and_refused_at_the_field(page: Client, db: None) -> None:
    workspace = workspace_row("shop")
    workspace_row("other")
    url = f"/workspaces/{workspace.id}/settings/"
    for name, told in (("other", "exists already"), ("a b", "letters, digits, dash")):
        response = page.post(url, {"name": name})
        assert response.status_code == 422
        assert told in html(response)
    page.post(url, {"name": "store", "gates_waived": "on"})
    workspace.refresh_from_db()
    assert (workspace.name, workspace.gates_waived) == ("store", True)


def test_members_are_let_in_changed_and_removed(page: Client, db: None) -> None:
    workspace = workspace_row("shop")
    User.objects.create(username="bob")
    url = f"/workspaces/{workspace.id}/settings/members/"
    assert "nobody is named" in html(
        page.post(url, {"username": "nobody", "role": "viewer"}, follow=True)
    )
    assert page.post(url, {"username": "bob", "role": "king"}).status_code == 422
    page.post(url, {"username": "bob", "role": "operator"})
    assert Membership.objects.get().role == "operator"
    page.post(url + "remove/", {"username": "bob"})
    assert not Membership.objects.exists()


def test_a_workspace_with_history_is_forgotten_only_by_its_name(page: Client, db: None) -> None:
    workspace = workspace_row("shop")
    batch_row(workspace)
    url = f"/workspaces/{workspace.id}/settings/forget/"
    assert "1 batch" in html(page.get(url))
    assert page.post(url, {"name": "wrong"}).status_code == 422
    assert Workspace.objects.exists()
    page.post(url, {"name": "shop"})
    assert not Workspace.objects.exists()


def test_a_key_is_shown_once_has_its_limits_and_is_revoked(page: Client, db: None) -> None:
    workspace = workspace_row("shop")
    form = {"name": "ci", "scope": "write", "days": "30", "workspaces": str(workspace.id)}
    response = page.post("/account/tokens/", form)
    assert "no-store" in response["Cache-Control"]
    shown = re.search(r"cf_[\w-]{20,}", html(response))
    assert shown
    token = find_token(shown[0])
    assert token is not None
    assert (token.scope, token.limited, token.workspaces.get()) == ("write", True, workspace)
    assert token.expires_at is not None
    assert shown[0] not in html(page.get("/account/"))
    page.post(f"/account/tokens/{token.id}/revoke/")
    assert find_token(shown[0]) is None


def test_nobody_revokes_or_limits_to_what_is_not_theirs(client: Client, operator: User) -> None:
    secret = workspace_row("secret-plans")
    token = ApiToken.objects.create(user=operator, name="x", digest="d")
    client.force_login(User.objects.create(username="eve"))
    assert client.post(f"/account/tokens/{token.id}/revoke/").status_code == 404
    form = {"name": "ci", "scope": "read", "days": "30", "workspaces": str(secret.id)}
    response = client.post("/account/tokens/", form)
    assert response.status_code == 422
    assert "secret-plans" not in html(response)


@pytest.mark.parametrize(
    "there",
    [
        "https://evil.example/",
        "http://testserver/",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "javascript:x",
        "batches",
        "../x",
        "http://[",
        "",
    ],
)
def test_the_theme_leads_back_to_our_own_pages_only(page: Client, there: str) -> None:
    response = page.post("/theme/", {"theme": "dark", "next": there})
    assert response["Location"] == "/"
    assert 'data-theme="dark"' in html(page.get("/"))
    page.post("/theme/", {"theme": '"><x', "next": "/"})
    assert 'data-theme="dark"' in html(page.get("/"))
