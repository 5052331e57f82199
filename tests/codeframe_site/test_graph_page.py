"""The picture of dependencies: whole without a script, bounded, and the same as its table."""

import re
from itertools import pairwise

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from tasks.models import Task, TaskDependency
from tasks.web import graph_page
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import many_tasks, workspace_row


@pytest.mark.parametrize("size", [10, 1000])
def test_the_number_of_queries_does_not_grow(
    page: Client, size: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    workspace = workspace_row()
    many_tasks(workspace, size, "READY")
    with django_assert_num_queries(8):
        text = html(page.get(f"/workspaces/{workspace.id}/graph/"))
    assert text.count('<a href="/tasks/') >= size
    assert text.count("marker-end") == size - 1


def test_unfinished_only_leaves_out_what_is_done(page: Client) -> None:
    workspace = workspace_row()
    many_tasks(workspace, 2, "DONE")
    many_tasks(workspace, 2, "READY")
    text = html(page.get(f"/workspaces/{workspace.id}/graph/?unfinished=on"))
    assert re.findall(r'data-status="(\w+)" aria', text) == ["READY", "READY"]


def test_too_many_are_cut_and_that_is_said(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_page, "MOST_TASKS", 5)
    workspace = workspace_row()
    many_tasks(workspace, 9, "READY")
    text = html(page.get(f"/workspaces/{workspace.id}/graph/"))
    assert text.count('class="node') == 5
    assert "The first 5 by priority" in text


def test_a_picture_that_takes_long_is_waited_for_without_holding_the_request(
    page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_row()
    many_tasks(workspace, 3, "READY")
    url = f"/workspaces/{workspace.id}/graph/"
    monkeypatch.setattr(graph_page, "picture_of", lambda *_: None)
    text = html(page.get(url))
    assert "is being laid out" in text
    assert 'href="/workspaces/' in text
    again = page.get(url, headers={"HX-Request": "true"})
    assert "HX-Refresh" not in again
    monkeypatch.undo()
    assert page.get(url, headers={"HX-Request": "true"})["HX-Refresh"] == "true"


def test_the_table_says_what_the_picture_says(page: Client) -> None:
    workspace = workspace_row()
    tasks = [Task.objects.create(workspace=workspace, title=t) for t in ("One", "Two")]
    for other, task in pairwise(tasks):
        TaskDependency.objects.create(task=task, depends_on=other)
    text = html(page.get(f"/workspaces/{workspace.id}/graph/"))
    row = next(r for r in re.findall(r"<tr data-row>.*?</tr>", text, re.S) if ">Two<" in r)
    assert '<span class="dependency title">One</span>' in row


def test_states_are_told_by_task(page: Client) -> None:
    workspace = workspace_row()
    task = Task.objects.create(workspace=workspace, title="One", status="READY")
    found = page.get(f"/workspaces/{workspace.id}/graph/states/").json()
    assert found == {str(task.id): "READY"}
