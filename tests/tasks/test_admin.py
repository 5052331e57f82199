from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from tasks.models import Blocker, Event, Task
from tests.codeframe_site.rows import batch_row, many_tasks, run_row, workspace_row

pytestmark = pytest.mark.django_db

OURS = ("tasks", "batches")
EDITABLE = {"workspace", "blocker", "commandengine", "membership"}
"""Models whose rows a person may change in the admin."""


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


def act(client: Client, url: str, action: str, *rows: object) -> str:
    data = {"action": action, "_selected_action": [str(row) for row in rows]}
    return said(client.post(url, data, follow=True))


def said(response: HttpResponse) -> str:
    return " | ".join(str(message) for message in response.context["messages"])


def our_models() -> list[str]:
    models = (model for app in OURS for model in apps.get_app_config(app).get_models())
    return [f"{model._meta.app_label}/{model._meta.model_name}" for model in models]


def test_every_model_is_there() -> None:
    missing = [m for app in OURS for m in apps.get_app_config(app).get_models()]
    assert [m.__name__ for m in missing if not admin.site.is_registered(m)] == []


@pytest.mark.parametrize("name", our_models())
def test_lists_filter_search_and_hold_when_there_is_nothing(staff: Client, name: str) -> None:
    for query in ("", "?q=dead", "?q=some+words", f"?q={uuid4()}", "?o=1", "?p=0"):
        assert staff.get(f"/admin/{name}/{query}").status_code == 200, query


@pytest.mark.parametrize("name", [n for n in our_models() if n.split("/")[1] not in EDITABLE])
def test_history_cannot_be_added_changed_or_deleted(staff: Client, name: str) -> None:
    run = run_row(batch_row(workspace_row()))
    task = many_tasks(run.batch.workspace, 2, "READY")[0]
    model = apps.get_model(name.replace("/", "."))
    row = model.objects.first()
    assert staff.get(f"/admin/{name}/add/").status_code == 403
    if row is None:
        return
    url = f"/admin/{name}/{row.pk}/change/"
    shown = staff.get(url)
    assert shown.status_code == 200
    assert b'name="_save"' not in shown.content
    assert staff.post(url, {"title": "other"}).status_code == 403
    assert staff.get(f"/admin/{name}/{row.pk}/delete/").status_code == 403
    assert task.pk


@pytest.mark.parametrize("count", [3, 300])
def test_the_number_of_queries_is_the_same_for_any_number_of_rows(
    staff: Client, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    many_tasks(workspace_row(), count, "READY")
    with django_assert_num_queries(5):
        assert staff.get("/admin/tasks/task/").status_code == 200
    with django_assert_num_queries(4):
        assert staff.get("/admin/tasks/blocker/").status_code == 200


def test_a_beginning_of_an_id_finds_the_row(staff: Client) -> None:
    first, second = many_tasks(workspace_row(), 2, "READY")
    content = staff.get(f"/admin/tasks/task/?q={first.id.hex[:10]}").content.decode()
    assert str(first.id) in content
    assert str(second.id) not in content


def test_words_that_could_be_an_id_are_still_searched_for(staff: Client) -> None:
    task = Task.objects.create(workspace=workspace_row(), title="feed the cafe")
    assert str(task.id) in staff.get("/admin/tasks/task/?q=feed").content.decode()


def test_events_are_found_by_run_and_filtered_by_type(staff: Client) -> None:
    run = run_row(batch_row(workspace_row()))
    event = Event.objects.get(run_id=run.id)
    found = staff.get(f"/admin/tasks/event/?q={run.id.hex[:8]}&type=RUN_STAGE").content.decode()
    assert f"/admin/tasks/event/{event.id}/change/" in found
    other = staff.get(f"/admin/tasks/event/?q={run.id.hex[:8]}&type=RUN_LOST").content.decode()
    assert f"/admin/tasks/event/{event.id}/change/" not in other


def test_tasks_are_moved_by_the_lifecycle_and_refusals_are_said(staff: Client) -> None:
    workspace = workspace_row()
    backlog, merged = (many_tasks(workspace, 1, status)[0] for status in ("BACKLOG", "MERGED"))
    told = act(staff, "/admin/tasks/task/", "make_ready", backlog.pk, merged.pk)
    assert "1 moved to READY" in told
    assert "a task that is MERGED cannot become READY" in told
    backlog.refresh_from_db()
    merged.refresh_from_db()
    assert (backlog.status, merged.status) == ("READY", "MERGED")
    assert Event.objects.filter(task_id=backlog.id, type="TASK_STATUS").count() == 1


def test_an_answer_closes_the_question_and_frees_the_task(staff: Client) -> None:
    task = many_tasks(workspace_row(), 1, "BLOCKED")[0]
    blocker = Blocker.objects.get(task=task)
    url = f"/admin/tasks/blocker/{blocker.pk}/change/"
    assert staff.post(url, {"answer": ""}).status_code == 200
    staff.post(url, {"answer": "The second one"})
    blocker.refresh_from_db()
    task.refresh_from_db()
    assert (blocker.status, blocker.answered_by) == ("ANSWERED", "ada")
    assert task.status == "READY"
    again = staff.post(url, {"answer": "Another"})
    assert again.status_code == 403
    blocker.refresh_from_db()
    assert blocker.answer == "The second one"


def test_who_may_only_look_is_offered_no_action(client: Client) -> None:
    viewer = User.objects.create(username="vic", is_staff=True)
    viewer.user_permissions.set(
        p for p in _permissions() if p.codename in ("view_task", "view_batch")
    )
    client.force_login(viewer)
    task = many_tasks(workspace_row(), 1, "BACKLOG")[0]
    page = client.get("/admin/tasks/task/")
    assert page.status_code == 200
    assert b"make_ready" not in page.content
    client.post("/admin/tasks/task/", {"action": "make_ready", "_selected_action": [str(task.pk)]})
    task.refresh_from_db()
    assert task.status == "BACKLOG"


def _permissions():  # type: ignore[no-untyped-def]
    from django.contrib.auth.models import Permission

    return Permission.objects.all()
