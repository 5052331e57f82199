"""The number of queries of a page does not depend on how many rows there are."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from batches.models.batch import BatchStatus
from tasks.models.task import TaskStatus
from tests.codeframe_site.rows import (
    add_history,
    batch_row,
    many_runs,
    many_tasks,
    run_row,
    workspace_row,
)

SIGNED_IN = 2
"""Session and person."""


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
    with django_assert_num_queries(SIGNED_IN + 5 + len(TaskStatus)):
        assert page.get(f"/workspaces/{workspace.id}/").status_code == 200
    with django_assert_num_queries(SIGNED_IN + 3):
        assert page.get(f"/workspaces/{workspace.id}/?status=READY").status_code == 200


def test_batches(
    page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    workspace = workspace_row()
    for _ in range(size // 5):
        batch_row(workspace)
    with django_assert_num_queries(SIGNED_IN + 1):
        assert page.get("/batches/").status_code == 200


def test_batch(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    batch = batch_row(workspace_row(), total=size, completed=size)
    many_runs(batch, size)
    with django_assert_num_queries(SIGNED_IN + 8):
        assert page.get(f"/batches/{batch.id}/").status_code == 200


def test_run(page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    run = run_row(batch_row(workspace_row()))
    for _ in range(size // 10):
        add_history([run] * 10)
    with django_assert_num_queries(SIGNED_IN + 7):
        assert page.get(f"/runs/{run.id}/").status_code == 200
