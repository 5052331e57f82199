"""Many tasks at once: what was ticked, and what a file holds."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from batches.models.run import RunStatus
from tasks.models import Event, Task, Workspace
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, many_tasks, run_row, task_row, workspace_row


@pytest.fixture
def page(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def shop(db: None) -> Workspace:
    return workspace_row("shop")


# -- many at once --------------------------------------------------------------------------------


def test_ticked_tasks_move_as_far_as_they_can_and_the_rest_is_told(
    page: Client, shop: Workspace
) -> None:
    ready, done = task_row(shop, status="READY"), task_row(shop, status="MERGED")
    response = page.post(
        f"/workspaces/{shop.id}/tasks/ticked/",
        {"action": "backlog", "task": [str(ready.id), str(done.id), "x"]},
        follow=True,
    )
    assert "1 task made backlog" in html(response)
    assert "1 task cannot become backlog" in html(response)
    assert Event.objects.get().payload["why"] == "set by hand"


@pytest.mark.parametrize("there", ["tasks", "../x", "//evil.example", "http://[", ""])
def test_it_leads_back_to_a_page_of_ours(page: Client, shop: Workspace, there: str) -> None:
    home = f"/workspaces/{shop.id}/"
    for wanted, found in ((there, home), (f"{home}?status=READY", f"{home}?status=READY")):
        response = page.post(f"{home}tasks/ticked/", {"action": "ready", "next": wanted})
        assert (response.status_code, response["Location"]) == (302, found)


def test_ticked_tasks_are_deleted_after_they_were_named(page: Client, shop: Workspace) -> None:
    tasks = [task_row(shop, f"Old {n}") for n in range(3)]
    run_row(batch_row(shop, "RUNNING"), RunStatus.RUNNING, task=tasks[0])
    url = f"/workspaces/{shop.id}/tasks/ticked/"
    form = {"action": "delete", "task": [str(task.id) for task in tasks]}
    asked = html(page.post(url, form))
    assert "Delete 3 tasks?" in asked
    assert "Old 2" in asked
    assert Task.objects.count() == 3
    text = html(page.post(url, form | {"confirmed": "yes"}, follow=True))
    assert "2 tasks deleted" in text
    assert "is part of batch" in text
    assert list(Task.objects.values_list("title", flat=True)) == ["Old 0"]


def test_ticked_tasks_are_run_without_a_word_of_the_form_in_the_address(
    page: Client, shop: Workspace
) -> None:
    ticked, _ = task_row(shop, "Tea", status="READY"), task_row(shop, "Cake", status="READY")
    board = html(page.get(f"/workspaces/{shop.id}/"))
    form = board[board.index('<form class="bulk"') :].partition("</form>")[0]
    button = re.search(r'<button type="submit" formaction="([^"]*)">Run<', form)
    assert button
    assert 'method="post"' in form.partition(">")[0]
    plan = page.post(button[1], {"task": str(ticked.id)})
    assert plan.status_code == 200
    assert f'name="task" value="{ticked.id}"' in html(plan)
    assert "Start 1 task<" in html(plan)


def test_tasks_of_another_workspace_are_not_ticked(page: Client, shop: Workspace) -> None:
    other = task_row(workspace_row("other"), status="READY")
    form = {"action": "backlog", "task": str(other.id)}
    text = html(page.post(f"/workspaces/{shop.id}/tasks/ticked/", form, follow=True))
    assert "No task is ticked" in text


def test_too_many_at_once_are_refused(page: Client, shop: Workspace) -> None:
    tasks = many_tasks(shop, 201, "READY")
    form = {"action": "backlog", "task": [str(task.id) for task in tasks]}
    text = html(page.post(f"/workspaces/{shop.id}/tasks/ticked/", form, follow=True))
    assert "at most 200" in text


# -- importing -----------------------------------------------------------------------------------


def test_nothing_is_imported_before_it_was_shown(page: Client, shop: Workspace) -> None:
    task_row(shop, "Same", status="READY")
    url = f"/workspaces/{shop.id}/tasks/import/"
    text = "tasks:\n  - title: Same\n  - title: New\n"
    file = SimpleUploadedFile("t.yaml", text.encode())
    asked = html(page.post(url, {"file": file, "action": "preview"}))
    assert asked.count('class="state bad">in the way') == 1
    assert 'value="import"' not in asked
    form = {"text": text, "format": "yaml", "update": "on"}
    assert 'value="import"' in html(page.post(url, form))
    assert Task.objects.count() == 1
    page.post(url, form | {"action": "import"})
    assert {t.title: t.status for t in Task.objects.all()} == {"Same": "READY", "New": "BACKLOG"}


def test_every_problem_of_a_file_is_told_with_its_line(page: Client, shop: Workspace) -> None:
    text = "tasks:\n  - title: A\n    priority: high\n  - title: B\n    depends_on: [Nobody]\n"
    response = page.post(f"/workspaces/{shop.id}/tasks/import/", {"text": text})
    assert response.status_code == 422
    assert "2 problems" in html(response)
    assert "line 3" in html(response)
    assert "line 5" in html(response)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x00" * 10, b"[" * 5000, b"   "])
def test_any_bytes_are_refused_in_words(page: Client, shop: Workspace, data: bytes) -> None:
    for name in ("a.json", "a.yaml", "a.md", "a.exe"):
        response = page.post(
            f"/workspaces/{shop.id}/tasks/import/", {"file": SimpleUploadedFile(name, data)}
        )
        assert response.status_code in (200, 422), name
    assert not Task.objects.exists()
