"""What people reported of programs like this one, tried on ours: odd characters and sizes, and
doors that were open. (Streams have tests of their own.)"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from codeframe_site.models import Scope
from tasks.models import Task, Workspace
from tests.api.client import BASE, Api, code_of
from tests.api.rows import World, known_workspace
from tests.factories import make_task
from tests.repos import make_repository

pytestmark = pytest.mark.django_db
MANY = 10**12


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


# -- %00, half characters, sizes ------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\x00b", "\x00", "\ud800", "a\udfff", ""])
@pytest.mark.parametrize("field", ["title", "description", "key", "status"])
def test_a_text_that_cannot_be_kept_is_422(
    api: Api, workspace: Workspace, field: str, text: str
) -> None:
    status, body = api("POST", "tasks", {"title": "a"} | {field: text})
    if text == "" and field in ("description", "key"):
        assert status == 201
        return
    assert (status, body["detail"]["code"]) in (
        (422, "VALIDATION_ERROR"),
        (400, "VALIDATION_ERROR"),
    )
    assert Task.objects.count() == 0


@pytest.mark.parametrize(
    "path",
    [
        "tasks?q=%00",
        "tasks?status=%00",
        "tasks?workspace=%00",
        "tasks?workspace_path=%00",
        "tasks?cursor=%00",
        "tasks?%00=1",
        "batches?engine=%00",
        "events?after=%00",
        "workspaces/exists?repo_path=%00",
    ],
)
def test_nul_in_a_query_is_refused_in_the_one_shape(
    api: Api, workspace: Workspace, path: str
) -> None:
    status, code = code_of(api("GET", path))
    assert status in (400, 422)
    assert code == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "path", ["tasks/%00", "tasks/%00/run", "runs/%ED%A0%80", "%00", "batches/%FF"]
)
def test_nul_in_a_path_is_a_path_that_does_not_exist(api: Api, path: str) -> None:
    assert code_of(api("GET", path)) == (404, "NOT_FOUND")


def test_a_title_of_10_mb_is_413_and_one_just_under_a_body_is_422(
    api: Api, workspace: Workspace
) -> None:
    assert code_of(api("POST", "tasks", {"title": "x" * 10_000_000})) == (413, "INVALID_REQUEST")
    assert code_of(api("POST", "tasks", {"title": "x" * 1_900_000})) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "query",
    [
        f"tasks?limit={MANY}",
        "tasks?limit=-1",
        "tasks?limit=0",
        "tasks?limit=1e3",
        "tasks?limit=" + "9" * 5000,
        f"events?after={10**30}",
        f"costs/summary?days={MANY}",
        f"schedule?agents={MANY}",
        f"batches?cursor={MANY}",
    ],
)
def test_a_number_out_of_bounds_is_422(api: Api, workspace: Workspace, query: str) -> None:
    assert code_of(api("GET", query)) == (422, "VALIDATION_ERROR")


# -- doors that were open --------------------------------------------------------------------------


def test_no_allowed_folder_is_none_and_not_any(
    make_api: Callable[..., Api], tmp_path: Path, settings: Settings
) -> None:
    settings.WORKSPACE_ROOTS = []
    repository = make_repository(tmp_path / "shop")
    answer = make_api(Scope.ADMIN)("POST", "workspaces", {"repo_path": str(repository)})
    assert code_of(answer) == (403, "FORBIDDEN")


def test_no_way_leads_out_of_the_allowed_folders(
    make_api: Callable[..., Api], tmp_path: Path, settings: Settings
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = make_repository(tmp_path / "outside")
    (inside / "link").symlink_to(outside)
    settings.WORKSPACE_ROOTS = [str(inside)]
    admin = make_api(Scope.ADMIN)
    for path in (f"{inside}/../outside", f"{inside}/link", f"{inside}/link/../link", f"{outside}"):
        answer = admin("POST", "workspaces", {"repo_path": path})
        assert code_of(answer) == (403, "FORBIDDEN"), path
    assert Workspace.objects.count() == 0


def test_the_first_visitor_of_an_empty_installation_becomes_nobody() -> None:
    browser = Client()
    for path in ("/login/", "/admin/login/", "/register/", "/setup/", f"{BASE}tokens"):
        browser.post(path, {"username": "ada", "password": "x", "password1": "x", "password2": "x"})
    assert User.objects.count() == 0
    assert browser.get("/").status_code == 302


def test_a_reading_token_changes_nothing_and_a_strangers_sees_nothing(
    make_api: Callable[..., Api],
) -> None:
    """One of each kind; test_access.py walks every route."""
    world = World()
    reading = make_api(Scope.READ)
    stranger = make_api(Scope.ADMIN, superuser=False, name="mallory")
    paths: list[tuple[str, str, Any]] = [
        ("POST", f"tasks?workspace={world.shop.id}", {"title": "x"}),
        ("POST", "tasks/execute", {}),
        ("PATCH", f"tasks/{world.ids['task']}", {"title": "x"}),
        ("DELETE", f"tasks/{world.ids['task']}", None),
        ("POST", f"batches/{world.ids['batch']}/cancel", {}),
        ("POST", f"runs/{world.ids['run']}/stop", {}),
        ("POST", f"blockers/{world.ids['blocker']}/answer", {"answer": "x"}),
    ]
    for method, path, body in paths:
        assert code_of(reading(method, path, body)) == (403, "FORBIDDEN"), path
        assert code_of(stranger(method, path, body)) == (404, "NOT_FOUND"), path


# -- the beginnings of ids -------------------------------------------------------------------------


def test_a_task_and_a_question_are_found_by_the_beginning_of_their_ids(api: Api) -> None:
    world = World()
    for noun in ("task", "blocker"):
        whole = str(world.ids[noun])
        for text in (whole, whole.upper(), whole.replace("-", ""), whole[:8], whole[:13]):
            assert api.get(f"{noun}s/{text}")["id"] == whole
    answer = api.post(f"blockers/{str(world.ids['blocker'])[:8]}/answer", {"answer": "Blue"})
    assert answer["status"] == "ANSWERED"


def test_the_beginning_of_two_ids_is_422_and_of_none_404(api: Api, workspace: Workspace) -> None:
    for number in (1, 2):
        make_task(workspace, f"t{number}", id=f"abcd0000-0000-4000-8000-00000000000{number}")
    status, body = api("GET", "tasks/abcd0000")
    assert code_of((status, body)) == (422, "VALIDATION_ERROR")
    assert "more than one" in body["detail"]["detail"]
    assert code_of(api("GET", "tasks/ffff0000")) == (404, "NOT_FOUND")
    assert code_of(api("GET", "tasks/abc")) == (404, "NOT_FOUND")


def test_a_beginning_finds_nothing_that_one_may_not_see(make_api: Callable[..., Api]) -> None:
    world = World()
    stranger = make_api(Scope.ADMIN, superuser=False, name="mallory")
    for noun in ("task", "blocker"):
        answer = stranger("GET", f"{noun}s/{str(world.ids[noun])[:8]}")
        assert code_of(answer) == (404, "NOT_FOUND")
