"""Pages: nothing twice, nothing left out; and no more queries for more rows."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from batches.models import RecipeCommand, Run
from codeframe_site.models import Scope
from codeframe_site.tokens import make_token
from costs.ledger import Account
from tasks.models import Blocker, Membership, Task, Workspace
from tests.api.client import Api, code_of, person
from tests.api.rows import known_workspace
from tests.codeframe_site.rows import batch_row, many_runs, many_tasks
from tests.costs.charging import charge

pytestmark = pytest.mark.django_db

TOKEN = 1
"""The token with its person."""


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def pages(api: Api, path: str, name: str) -> Iterator[list[Any]]:
    joint = "&" if "?" in path else "?"
    cursor = ""
    while True:
        body = api.get(f"{path}{joint}cursor={cursor}")
        yield body[name]
        cursor = body["next_cursor"]
        if cursor is None:
            return


LISTS: dict[str, tuple[str, str, list[str]]] = {
    "workspaces": ("workspaces", "id", ["name", "created", "-created"]),
    "tasks?workspace=shop": (
        "tasks",
        "id",
        ["priority", "created", "-created", "updated", "-updated", "title"],
    ),
    "batches?workspace=shop": ("batches", "id", ["created", "-created"]),
    "batches/{batch}/runs": ("runs", "run_id", ["created", "-created"]),
    "tasks/{task}/runs": ("runs", "run_id", ["created", "-created"]),
    "blockers?workspace=shop": ("blockers", "id", ["created", "-created"]),
    "tokens": ("tokens", "id", ["created", "-created", "name"]),
    "workspaces/{workspace}/members": ("members", "username", ["created", "-created"]),
    "workspaces/{workspace}/recipe": ("commands", "id", ["created", "-created"]),
}


def fill(shop: Workspace) -> dict[str, object]:
    for number in range(6):
        known_workspace(f"w{number}")
        RecipeCommand.objects.create(workspace=shop, text=f"pip install p{number}")
        batch_row(shop)
        make_token(user=person("ada"), name="same name", scope=Scope.READ)
        Membership.objects.create(workspace=shop, user=person(f"p{number}"))
    tasks = many_tasks(shop, 7, "READY")
    batch = batch_row(shop)
    many_runs(batch, 7)
    Run.objects.filter(batch=batch).update(task=None)
    for attempt, run in enumerate(Run.objects.filter(batch=batch), start=1):
        Run.objects.filter(id=run.id).update(task=tasks[0], attempt=attempt)
    return {"batch": batch.id, "task": tasks[0].id, "workspace": shop.id}


@pytest.mark.parametrize("path", LISTS)
def test_pages_join_to_the_whole_in_every_order(
    make_api: Callable[..., Api], workspace: Workspace, path: str
) -> None:
    api = make_api(Scope.ADMIN)
    name, key, orders = LISTS[path]
    path = path.format(**fill(workspace))
    joint = "&" if "?" in path else "?"
    for order in orders:
        whole = api.get(f"{path}{joint}limit=100&order={order}")
        assert whole["next_cursor"] is None
        found = list(pages(api, f"{path}{joint}limit=3&order={order}", name))
        assert [len(page) for page in found[:-1]] == [3] * (len(found) - 1)
        joined = [row[key] for page in found for row in page]
        assert joined == [row[key] for row in whole[name]], order
        assert len(set(joined)) >= 6


def test_rows_that_come_and_go_move_no_page(api: Api, workspace: Workspace) -> None:
    many_tasks(workspace, 6, "READY")
    walk = pages(api, "tasks?limit=2", "tasks")
    first = next(walk)
    Task.objects.filter(id=first[0]["id"]).delete()
    Task.objects.create(workspace=workspace, title="first of all", priority=0)
    seen = [row["id"] for page in [first, *walk] for row in page]
    assert len(seen) == len(set(seen)) == 7


def cursor_of(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "====",
        cursor_of(),
        cursor_of("priority", 1),
        cursor_of("created", 1, "2026-01-01T00:00:00Z", "x"),
        cursor_of("priority", "x", "2026-01-01T00:00:00Z", "x"),
        cursor_of("priority", 1, "yesterday", "x"),
        cursor_of("priority", 1, "2026-01-01T00:00:00", "9c1e4b2f-0000-4000-8000-000000000000"),
        cursor_of("priority", [], {}, None),
        cursor_of("priority", 1e999, "2026-01-01T00:00:00Z", "x"),
        cursor_of("priority", "\x00", "\ud800", "x"),
    ],
)
def test_a_made_up_cursor_is_422(api: Api, workspace: Workspace, cursor: str) -> None:
    assert code_of(api("GET", f"tasks?cursor={cursor}")) == (422, "VALIDATION_ERROR")


def test_a_number_that_no_column_holds_is_no_error(api: Api, workspace: Workspace) -> None:
    many_tasks(workspace, 2, "READY")
    beyond = cursor_of(
        "priority", 10**30, "2026-01-01T00:00:00Z", "9c1e4b2f-0000-4000-8000-000000000000"
    )
    assert api.get(f"tasks?cursor={beyond}")["tasks"] == []


def test_a_cursor_is_for_the_order_it_was_made_in(api: Api, workspace: Workspace) -> None:
    many_tasks(workspace, 3, "READY")
    cursor = api.get("tasks?limit=1&order=title")["next_cursor"]
    answer = api("GET", f"tasks?limit=1&order=created&cursor={cursor}")
    assert code_of(answer) == (422, "VALIDATION_ERROR")


# -- queries -------------------------------------------------------------------------------------


COUNTS = {
    "tasks?limit=1000": 4,
    "tasks?status=READY&limit=1000": 4,
    "tasks/{task}": 2,
    "tasks/{task}/runs": 3,
    "batches?limit=100": 4,
    "batches/{batch}": 4,
    "batches/{batch}/runs?limit=100": 3,
    "runs/{run}": 5,
    "blockers?limit=1000": 3,
    "events?limit=1000": 3,
    "schedule": 4,
    "schedule/predict": 5,
    "schedule/bottlenecks": 5,
    "costs/summary": 3,
    "costs/tasks?limit=1000": 4,
    "costs/by-agent": 2,
    "workspaces?limit=1000": 1,
}
"""Beside the token's own."""


@pytest.mark.parametrize("size", [10, 1000])
def test_the_number_of_queries_does_not_grow_with_the_rows(
    api: Api,
    workspace: Workspace,
    size: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    tasks = many_tasks(workspace, size, "READY")
    for _ in range(size // 20):
        batch_row(workspace)
    batch = batch_row(workspace, total=size)
    many_runs(batch, size)
    run = Run.objects.filter(batch=batch).first()
    assert run is not None
    for task in tasks:
        charge(Account(workspace_id=workspace.id, task_id=task.id), "1")
    Run.objects.filter(id=run.id).update(task=tasks[0])
    ids = {"task": tasks[0].id, "batch": batch.id, "run": run.id}
    assert Blocker.objects.count() == size
    api.get("workspaces")
    for path, queries in COUNTS.items():
        with django_assert_num_queries(TOKEN + queries):
            api.get(path.format(**ids))
