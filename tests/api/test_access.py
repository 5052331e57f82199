"""Who may what: every route, with every kind of caller. A route that is not in the table fails."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern

from codeframe_site import api_urls
from codeframe_site.models import ApiToken, Scope
from codeframe_site.tokens import make_token
from tasks.models import Membership, Workspace
from tests.api.client import BASE, Api, document, person
from tests.api.rows import World, known_workspace

pytestmark = pytest.mark.django_db

VIEWER, OPERATOR, ADMIN = 1, 2, 3
READ, WRITE, ALL = 1, 2, 3


@dataclass(frozen=True)
class Needs:
    """The least that is asked of a caller. `role` 0: it belongs to no workspace."""

    scope: int
    role: int
    body: dict[str, Any] = field(default_factory=dict)


LOOK = Needs(READ, VIEWER)
WORK = Needs(WRITE, OPERATOR)
RULE = Needs(ALL, ADMIN)
OWN = Needs(ALL, 0)

TABLE: dict[tuple[str, str], Needs] = {
    ("GET", "workspaces"): Needs(READ, 0),
    ("POST", "workspaces"): Needs(ALL, 0, {"repo_path": "/nowhere"}),
    ("GET", "workspaces/current"): LOOK,
    ("GET", "workspaces/exists"): Needs(READ, 0),
    ("GET", "workspaces/<uuid:workspace_id>"): LOOK,
    ("PATCH", "workspaces/<uuid:workspace_id>"): RULE,
    ("DELETE", "workspaces/<uuid:workspace_id>"): RULE,
    ("GET", "workspaces/<uuid:workspace_id>/members"): RULE,
    ("PUT", "workspaces/<uuid:workspace_id>/members/<str:username>"): RULE,
    ("DELETE", "workspaces/<uuid:workspace_id>/members/<str:username>"): RULE,
    ("GET", "workspaces/<uuid:workspace_id>/config"): LOOK,
    ("POST", "workspaces/<uuid:workspace_id>/config/trust"): RULE,
    ("GET", "workspaces/<uuid:workspace_id>/recipe"): LOOK,
    ("POST", "workspaces/<uuid:workspace_id>/recipe"): RULE,
    ("PATCH", "workspaces/<uuid:workspace_id>/recipe/<int:command_id>"): RULE,
    ("GET", "tasks"): LOOK,
    ("POST", "tasks"): WORK,
    ("POST", "tasks/execute"): WORK,
    ("POST", "tasks/approve"): WORK,
    ("GET", "tasks/assignment-status"): LOOK,
    ("GET", "tasks/<short_id:task_id>"): LOOK,
    ("PATCH", "tasks/<short_id:task_id>"): WORK,
    ("DELETE", "tasks/<short_id:task_id>"): WORK,
    ("POST", "tasks/<short_id:task_id>/start"): WORK,
    ("POST", "tasks/<short_id:task_id>/stop"): WORK,
    ("POST", "tasks/<short_id:task_id>/resume"): WORK,
    ("GET", "tasks/<short_id:task_id>/run"): LOOK,
    ("GET", "tasks/<short_id:task_id>/runs"): LOOK,
    ("GET", "batches"): LOOK,
    ("GET", "batches/<uuid:batch_id>"): LOOK,
    ("GET", "batches/<uuid:batch_id>/runs"): LOOK,
    ("POST", "batches/<uuid:batch_id>/stop"): WORK,
    ("POST", "batches/<uuid:batch_id>/cancel"): WORK,
    ("POST", "batches/<uuid:batch_id>/resume"): WORK,
    ("POST", "batches/<uuid:batch_id>/retry"): WORK,
    ("PATCH", "batches/<uuid:batch_id>/budget"): WORK,
    ("GET", "runs/<uuid:run_id>"): LOOK,
    ("GET", "runs/<uuid:run_id>/output"): LOOK,
    ("GET", "runs/<uuid:run_id>/patch"): LOOK,
    ("POST", "runs/<uuid:run_id>/stop"): WORK,
    ("GET", "blockers"): LOOK,
    ("POST", "blockers"): Needs(WRITE, OPERATOR, {"question": "Which?", "task_id": "task"}),
    ("GET", "blockers/<short_id:blocker_id>"): LOOK,
    ("POST", "blockers/<short_id:blocker_id>/answer"): WORK,
    ("POST", "blockers/<short_id:blocker_id>/resolve"): WORK,
    ("GET", "engines"): Needs(READ, 0),
    ("GET", "events"): LOOK,
    ("GET", "schedule"): LOOK,
    ("GET", "schedule/predict"): LOOK,
    ("GET", "schedule/bottlenecks"): LOOK,
    ("GET", "costs/summary"): LOOK,
    ("GET", "costs/tasks"): LOOK,
    ("GET", "costs/by-agent"): LOOK,
    ("GET", "costs/by-model"): LOOK,
    ("GET", "costs/by-batch"): LOOK,
    ("GET", "costs/by-day"): LOOK,
    ("GET", "costs/export"): LOOK,
    ("GET", "costs/budgets"): LOOK,
    ("PATCH", "costs/budgets"): Needs(WRITE, ADMIN),
    ("GET", "tokens"): OWN,
    ("POST", "tokens"): Needs(ALL, 0, {"name": "t"}),
    ("DELETE", "tokens/<uuid:token_id>"): OWN,
    ("POST", "stream-ticket"): Needs(READ, VIEWER),
}
ROUTES = list(TABLE)
NAMES = [f"{method} {route}" for method, route in ROUTES]
DENIED = {401, 403, 404}
SCOPES = {Scope.READ: READ, Scope.WRITE: WRITE, Scope.ADMIN: ALL}
ROLES = {"viewer": VIEWER, "operator": OPERATOR, "admin": ADMIN}


def routes() -> Iterator[tuple[str, str]]:
    for pattern in api_urls.urlpatterns:
        assert isinstance(pattern, URLPattern)
        view = pattern.callback.cls
        for method in ("get", "post", "put", "patch", "delete"):
            if method in view.http_method_names and hasattr(view, method):
                yield method.upper(), str(pattern.pattern)


def test_the_table_names_every_route_and_no_other() -> None:
    assert sorted(routes()) == sorted(TABLE)


def test_the_document_names_every_route_and_no_other() -> None:
    described = {
        (method.upper(), path.removeprefix(BASE))
        for path, methods in document()["paths"].items()
        for method in methods
        if method != "parameters"
    }
    assert described == {(method, plain(route)) for method, route in routes()}


def plain(route: str) -> str:
    return re.sub(r"<\w+:(\w+)>", r"{\1}", route)


def ask(world: World, api: Api, method: str, route: str) -> int:
    """Its status; which of those that let in does not matter here."""
    path = route
    for name in ("workspace", "task", "batch", "run", "blocker", "token"):
        path = re.sub(rf"<\w+:{name}_id>", str(world.ids.get(name, uuid4())), path)
    path = path.replace("<str:username>", "nobody").replace("<int:command_id>", "1")
    body = {
        name: str(world.ids["task"]) if value == "task" else value
        for name, value in TABLE[method, route].body.items()
    }
    query = "?workspace=shop" if "_id>" not in route else ""
    return api.raw(method, path + query, None if method == "GET" else body).status_code


@pytest.fixture
def world(db: None) -> World:
    return World()


def caller(
    name: str,
    scope: Scope = Scope.ADMIN,
    *,
    superuser: bool = False,
    role: str = "",
    shop: Workspace | None = None,
    **token: Any,
) -> Api:
    user = person(name, superuser=superuser)
    if role:
        Membership.objects.get_or_create(workspace=shop, user=user, role=role)
    _, key = make_token(user=user, name="t", scope=scope, **token)
    return Api(key)


def let_in(method: str, route: str, status: int) -> bool:
    """Past every check of rights. Some then fail on the world: no patch, deleted before."""
    missing = ("patch", "<str:username>", "<uuid:token_id>", "<int:command_id>")
    by_itself = {("POST", "workspaces"), ("DELETE", "tasks/<short_id:task_id>")}
    allowed = route.endswith(missing) or (method, route) in by_itself
    return status not in (401, *(() if allowed else DENIED))


@pytest.mark.parametrize(("method", "route"), ROUTES, ids=NAMES)
class TestRoute:
    def test_nobody_is_let_in(self, world: World, method: str, route: str) -> None:
        assert ask(world, Api(), method, route) == 401

    def test_each_scope(self, world: World, method: str, route: str) -> None:
        needs = TABLE[method, route]
        for scope, held in SCOPES.items():
            status = ask(world, caller("root", scope, superuser=True), method, route)
            if held < needs.scope:
                assert status == 403, scope
            else:
                assert let_in(method, route, status), (scope, status)

    def test_each_role(self, world: World, method: str, route: str) -> None:
        needs = TABLE[method, route]
        for role, held in ROLES.items():
            status = ask(world, caller(role, role=role, shop=world.shop), method, route)
            if held < needs.role:
                assert status == 403, role
            else:
                assert let_in(method, route, status), (role, status)

    def test_who_is_no_member_sees_nothing(self, world: World, method: str, route: str) -> None:
        needs = TABLE[method, route]
        status = ask(world, caller("stranger"), method, route)
        assert status == 404 if needs.role else let_in(method, route, status), status

    def test_a_token_for_another_workspace_sees_nothing(
        self, world: World, method: str, route: str
    ) -> None:
        other = known_workspace("other")
        api = caller("root", superuser=True, workspaces=[other])
        status = ask(world, api, method, route)
        if TABLE[method, route].role:
            assert status == 404
        here = caller("root", superuser=True, workspaces=[world.shop])
        assert let_in(method, route, ask(world, here, method, route))

    def test_what_is_over_is_over(self, world: World, method: str, route: str) -> None:
        api = caller("root", superuser=True)
        ApiToken.objects.update(revoked_at=world.shop.created_at)
        assert ask(world, api, method, route) == 401
        api = caller("root", superuser=True, expires_at=world.shop.created_at)
        assert ask(world, api, method, route) == 401

    def test_a_session_needs_its_csrf_token_to_change_something(
        self, world: World, method: str, route: str
    ) -> None:
        browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
        browser.force_login(person("root", superuser=True))
        api = Api(client=browser)
        if method != "GET":
            assert ask(world, api, method, route) == 403
            browser.cookies["csrftoken"] = "a" * 32
            api = Api(client=browser, **{"X-CSRFToken": "a" * 32})
        assert let_in(method, route, ask(world, api, method, route))


def test_what_one_may_not_see_is_told_like_what_is_not_there(world: World) -> None:
    api = caller("stranger")
    for kind in ("task", "batch", "run", "blocker"):
        noun = {"batch": "batches"}.get(kind, f"{kind}s")
        hidden = api("GET", f"{noun}/{world.ids[kind]}")
        missing = api("GET", f"{noun}/{uuid4()}")
        assert hidden == missing
    assert api.get("workspaces")["workspaces"] == []
