"""The number of queries of a page does not depend on how many rows there are."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from tasks.models import Blocker, Membership, TaskDependency
from tasks.models.task import TaskStatus
from tasks.web.columns import COLUMNS
from tests.codeframe_site.rows import (
    add_history,
    batch_row,
    many_runs,
    many_tasks,
    run_row,
    workspace_row,
)

SIGNED_IN = 4
"""Session, person, and the rail: workspaces and open questions."""
OF_A_WORKSPACE = 7
"""Its row, its cursor, its batch, and what needs a person."""


@pytest.fixture(params=[10, 1000])
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_home(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(size // 10):
        workspace = workspace_row(f"repo-{number}")
        batch_row(workspace)
        batch_row(workspace, BatchStatus.RUNNING)
        many_tasks(workspace, 2, TaskStatus.READY)
    with django_assert_num_queries(SIGNED_IN + 5):
        assert page.get("/").status_code == 200


def test_workspace(
    page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    workspace = workspace_row()
    for status in TaskStatus:
        many_tasks(workspace, size // 5, status)
    for _ in range(size // 10):
        batch_row(workspace)
    with django_assert_num_queries(SIGNED_IN + OF_A_WORKSPACE + len(COLUMNS) + 5):
        assert page.get(f"/workspaces/{workspace.id}/").status_code == 200
    with django_assert_num_queries(SIGNED_IN + OF_A_WORKSPACE + 5):
        assert page.get(f"/workspaces/{workspace.id}/?status=READY").status_code == 200


def test_batches(
    page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    workspace = workspace_row()
    for _ in range(size // 5):
        batch_row(workspace)
    with django_assert_num_queries(SIGNED_IN + 2):
        assert page.get("/batches/").status_code == 200


def test_batch(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    batch = batch_row(workspace_row(), BatchStatus.RUNNING, total=size, completed=size)
    many_runs(batch, size)
    url = f"/batches/{batch.id}/"
    stages = size < 150  # of very many runs the stages are not drawn
    with django_assert_num_queries(SIGNED_IN + 17 + stages):
        assert page.get(url).status_code == 200
    with django_assert_num_queries(2 + 8):
        assert page.get(f"{url}parts/head/").status_code == 200
    with django_assert_num_queries(2 + 4):
        assert page.get(f"{url}tasks/3/").status_code == 200


@pytest.mark.parametrize("tab", ["", "changes/", "checks/", "events/", "details/"])
def test_run(
    page: Client, size: int, tab: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = run_row(batch_row(workspace_row()))
    for _ in range(size // 10):
        add_history([run] * 10)
    with django_assert_max_num_queries(SIGNED_IN + 9):
        assert page.get(f"/runs/{run.id}/{tab}").status_code == 200


def test_events(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    batch = batch_row(workspace_row())
    many_runs(batch, size)
    with django_assert_num_queries(SIGNED_IN + 4):
        assert page.get(f"/workspaces/{batch.workspace_id}/events/").status_code == 200


def test_start(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    workspace = workspace_row()
    many_tasks(workspace, size, TaskStatus.READY)
    with django_assert_num_queries(SIGNED_IN + 7):
        assert page.get(f"/workspaces/{workspace.id}/run/").status_code == 200


def test_operators(
    page: Client, size: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(size // 20):
        workspace = workspace_row(f"repo-{number}")
        run_row(batch_row(workspace, BatchStatus.RUNNING), RunStatus.RUNNING)
    with django_assert_max_num_queries(SIGNED_IN + 14):
        assert page.get("/operators/").status_code == 200


def test_task(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    workspace = workspace_row()
    first, *others = many_tasks(workspace, size, TaskStatus.READY)
    TaskDependency.objects.bulk_create(
        TaskDependency(task=other, depends_on=first) for other in others[1:]
    )
    Blocker.objects.bulk_create(
        Blocker(task=first, reason="question", question=f"Which {n}?") for n in range(size)
    )
    for number in range(size // 10):
        run_row(batch_row(workspace), task=first, position=number)
    with django_assert_num_queries(SIGNED_IN + 8):
        assert page.get(f"/tasks/{first.id}/").status_code == 200


def test_questions(
    page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    many_tasks(workspace_row(), size, TaskStatus.BLOCKED)
    with django_assert_num_queries(SIGNED_IN + 2):
        assert page.get("/questions/").status_code == 200


def test_settings_and_account(
    page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    workspace = workspace_row()
    users = User.objects.bulk_create(User(username=f"user-{n}") for n in range(size))
    Membership.objects.bulk_create(Membership(workspace=workspace, user=user) for user in users)
    with django_assert_num_queries(SIGNED_IN + 3):
        assert page.get(f"/workspaces/{workspace.id}/settings/").status_code == 200
    with django_assert_num_queries(SIGNED_IN + 3):
        assert page.get("/account/").status_code == 200
