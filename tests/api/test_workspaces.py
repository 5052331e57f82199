import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from codeframe_site.models import Scope
from tasks.models import AuditEntry, Membership, Workspace
from tests.api.client import Api, code_of, person
from tests.codeframe_site.rows import batch_row
from tests.repos import git, make_repository

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(make_api: Callable[..., Api]) -> Api:
    return make_api(Scope.ADMIN)


@pytest.fixture
def roots(tmp_path: Path, settings: Any) -> Path:
    """The one folder below which repositories may be registered."""
    folder = tmp_path / "roots"
    folder.mkdir()
    settings.WORKSPACE_ROOTS = [str(folder)]
    return folder


def repository(path: Path) -> Path:
    return make_repository(path, files={"README.md": "hello\n"})


def test_whoever_registers_a_repository_is_its_admin(
    make_api: Callable[..., Api], roots: Path
) -> None:
    bob = make_api(Scope.ADMIN, superuser=False, name="bob")
    repo = repository(roots / "shop")
    response = bob.raw("POST", "workspaces", {"repo_path": str(repo), "gates_waived": True})
    body = response.json()
    assert response.status_code == 201, body
    assert response.headers["Location"] == f"/api/v2/workspaces/{body['id']}"
    assert (body["name"], body["repo_path"], body["gates_waived"]) == ("shop", str(repo), True)
    assert bob.get("workspaces/current") == body
    assert Membership.objects.get(user__username="bob").role == "admin"
    actions = AuditEntry.objects.order_by("id").values_list("user", "action")
    assert list(actions)[-2:] == [("bob", "workspace.create"), ("bob", "member.set")]


def outside(tmp_path: Path, roots: Path) -> dict[str, Path]:
    away = repository(tmp_path / "away")
    (roots / "link").symlink_to(away)
    pointing = roots / "pointing"
    pointing.mkdir()
    (pointing / ".git").write_text(f"gitdir: {away / '.git'}\n")
    linked_git = roots / "linked-git"
    linked_git.mkdir()
    (linked_git / ".git").symlink_to(away / ".git")
    git(away, "worktree", "add", "-q", str(roots / "tree"))
    return {
        "absolute": away,
        "dots": roots / ".." / "away",
        "link": roots / "link",
        "git file": pointing,
        "git link": linked_git,
        "worktree": roots / "tree",
        "not there": tmp_path / "nothing",
        "sibling": tmp_path / "roots-too",
        "home": Path("~"),
        "root": Path("/"),
        "server": Path("/etc"),
    }


def test_nothing_outside_of_the_roots_is_registered(
    admin: Api, roots: Path, tmp_path: Path
) -> None:
    for name, path in outside(tmp_path, roots).items():
        answer = admin("POST", "workspaces", {"repo_path": str(path)})
        assert code_of(answer) == (403, "FORBIDDEN"), name
    assert Workspace.objects.count() == 0


def test_without_roots_nothing_is_registered(admin: Api, tmp_path: Path, settings: Any) -> None:
    settings.WORKSPACE_ROOTS = []
    answer = admin("POST", "workspaces", {"repo_path": str(repository(tmp_path / "a"))})
    assert code_of(answer) == (403, "FORBIDDEN")


def test_a_link_inside_of_the_roots_is_followed(admin: Api, roots: Path) -> None:
    repo = repository(roots / "real")
    (roots / "alias").symlink_to(repo)
    status, body = admin("POST", "workspaces", {"repo_path": str(roots / "alias")})
    assert (status, body["repo_path"]) == (201, str(repo))


def test_what_is_no_repository_is_refused(admin: Api, roots: Path) -> None:
    (roots / "plain").mkdir()
    (roots / "file").touch()
    inner = repository(roots / "outer") / "inner"
    inner.mkdir()
    for path, code in (("plain", 422), ("outer/inner", 422), ("file", 404), ("nothing", 404)):
        status, body = admin("POST", "workspaces", {"repo_path": str(roots / path)})
        assert code_of((status, body))[0] == code, path


@pytest.mark.parametrize(
    "wrong", [{"name": "a b"}, {"name": "x" * 101}, {"repo_path": ""}, {"x": 1}]
)
def test_a_bad_value_is_422(admin: Api, roots: Path, wrong: dict[str, Any]) -> None:
    asked = {"repo_path": str(repository(roots / "shop"))} | wrong
    assert code_of(admin("POST", "workspaces", asked)) == (422, "VALIDATION_ERROR")


def test_a_repository_and_a_name_are_registered_once(admin: Api, roots: Path) -> None:
    one, two = (repository(roots / name) for name in ("one", "two"))
    assert admin("POST", "workspaces", {"repo_path": str(one), "name": "shop"})[0] == 201
    for asked in ({"repo_path": str(one)}, {"repo_path": str(two), "name": "shop"}):
        assert code_of(admin("POST", "workspaces", asked)) == (409, "CONFLICT")


def test_the_workspace_is_said_by_id_name_or_path(api: Api, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "alias").symlink_to(real)
    one = Workspace.objects.create(name="one", repo_path=str(real))
    assert api.get("workspaces/current")["name"] == "one"
    Workspace.objects.create(name="two", repo_path=str(tmp_path / "two"))
    assert code_of(api("GET", "tasks")) == (422, "VALIDATION_ERROR")
    for query in (f"workspace={one.id}", "workspace=one", f"workspace_path={tmp_path / 'alias'}"):
        assert api.get(f"workspaces/current?{query}")["id"] == str(one.id)
    for query in ("workspace=three", "workspace_path=/nowhere"):
        assert code_of(api("GET", f"tasks?{query}")) == (404, "NOT_FOUND")
    assert api.get(f"workspaces/exists?repo_path={real}")["workspace_id"] == str(one.id)
    assert api.get("workspaces/exists?repo_path=/nowhere")["exists"] is False
    assert code_of(api("GET", "workspaces/exists")) == (422, "VALIDATION_ERROR")


def test_a_workspace_is_changed_and_that_is_written_down(admin: Api, roots: Path) -> None:
    one = Workspace.objects.create(name="one", repo_path="/one")
    Workspace.objects.create(name="two", repo_path="/two")
    path = f"workspaces/{one.id}"
    status, body = admin("PATCH", path, {"name": "uno", "gates_waived": True})
    assert (status, body["name"], body["gates_waived"]) == (200, "uno", True)
    row = AuditEntry.objects.get(action="workspace.change")
    assert (row.user, row.subject, row.detail["name"]) == ("ada", "one", "uno")
    assert code_of(admin("PATCH", path, {"name": "two"})) == (409, "CONFLICT")
    assert code_of(admin("PATCH", path, {"repo_path": "/etc"})) == (422, "VALIDATION_ERROR")
    assert AuditEntry.objects.filter(action="workspace.change").count() == 1


def test_forgetting_keeps_the_repository_and_asks_about_history(
    admin: Api, shop: Workspace
) -> None:
    path = f"workspaces/{shop.id}"
    running = batch_row(shop, "RUNNING")
    assert code_of(admin("DELETE", path)) == (409, "CONFLICT")
    running.delete()
    batch_row(shop)
    assert code_of(admin("DELETE", path)) == (409, "CONFLICT")
    assert admin("DELETE", f"{path}?delete_history=true") == (204, None)
    assert code_of(admin("GET", path)) == (404, "NOT_FOUND")
    assert os.listdir(shop.repo_path)
    assert AuditEntry.objects.filter(action="workspace.delete", subject="shop").count() == 1


def test_members_are_let_in_changed_and_let_go(admin: Api, api: Api) -> None:
    one = Workspace.objects.create(name="one", repo_path="/one")
    person("bob")
    path = f"workspaces/{one.id}/members"
    assert admin("PUT", f"{path}/bob", {"role": "viewer"})[1]["role"] == "viewer"
    assert admin("PUT", f"{path}/bob", {"role": "operator"})[1]["role"] == "operator"
    assert [m["username"] for m in admin.get(path)["members"]] == ["bob"]
    assert code_of(admin("PUT", f"{path}/bob", {"role": "king"})) == (422, "VALIDATION_ERROR")
    assert code_of(admin("PUT", f"{path}/eve", {"role": "viewer"})) == (404, "NOT_FOUND")
    assert code_of(api("GET", path)) == (403, "FORBIDDEN")
    assert admin("DELETE", f"{path}/bob") == (204, None)
    assert code_of(admin("DELETE", f"{path}/bob")) == (404, "NOT_FOUND")
    rows = AuditEntry.objects.filter(action__startswith="member.").order_by("id")
    assert [row.action for row in rows] == ["member.set", "member.set", "member.remove"]
    assert rows[1].detail == {"user": "bob", "role": "operator"}


def test_members_that_the_admin_pages_change_are_written_down_too(db: None) -> None:
    one = Workspace.objects.create(name="one", repo_path="/one")
    bob = person("bob")
    root = User.objects.create_superuser("root", password="x")
    browser = Client()
    browser.force_login(root)
    base = "/admin/tasks/membership/"
    data = {"user": bob.pk, "workspace": str(one.id), "role": "viewer"}
    assert browser.post(f"{base}add/", data).status_code == 302
    row = Membership.objects.get()
    assert browser.post(f"{base}{row.pk}/change/", {"role": "admin"}).status_code == 302
    assert Membership.objects.get().role == "admin"
    assert browser.post(f"{base}{row.pk}/delete/", {"post": "yes"}).status_code == 302
    browser.post(f"{base}add/", data)
    chosen = {"action": "delete_selected", "_selected_action": Membership.objects.get().pk}
    assert browser.post(base, chosen | {"post": "yes"}).status_code == 302
    assert Membership.objects.count() == 0
    rows = AuditEntry.objects.order_by("id").values_list("user", "action", "subject")
    steps = ["member.set", "member.set", "member.remove", "member.set", "member.remove"]
    assert list(rows) == [("root", step, "one") for step in steps]
