"""What a person does to tasks on pages, for whom it is offered, and what is refused how."""

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from batches.models.run import RunStatus
from tasks.models import Blocker, Event, Membership, Task, Workspace
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, run_row, task_row, workspace_row

HOSTILE = "<script>alert(1)</script>\"'&"


@pytest.fixture
def page(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def shop(db: None) -> Workspace:
    return workspace_row("shop")


def member(client: Client, workspace: Workspace, role: str) -> User:
    user = User.objects.create(username=role)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    client.force_login(user)
    return user


# -- adding and editing --------------------------------------------------------------------------


def test_a_task_is_added_ready_or_into_the_backlog(page: Client, shop: Workspace) -> None:
    url = f"/workspaces/{shop.id}/tasks/new/"
    form = {"title": "Login", "priority": "2", "description": "  two\n  lines", "ready": "on"}
    page.post(url, form)
    page.post(url, {"title": "Later", "priority": "0"})
    first, second = Task.objects.order_by("-priority")
    assert (first.title, first.status, first.description) == (
        "Login",
        "READY",
        "  two\r\n  lines".replace("\r", ""),
    )
    assert (second.status, second.expects_changes) == ("BACKLOG", False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""),
        ("title", "x" * 501),
        ("title", "nul\0"),
        ("priority", "-1"),
        ("priority", str(2**31)),
        ("priority", "9" * 400),
        ("estimated_hours", "nan"),
        ("estimated_hours", "inf"),
        ("complexity_score", "6"),
        ("uncertainty_level", "some"),
    ],
)
def test_a_bad_field_is_refused_where_it_stands(
    page: Client, shop: Workspace, field: str, value: str
) -> None:
    form = {"title": "Login", "priority": "0"} | {field: value}
    response = page.post(f"/workspaces/{shop.id}/tasks/new/", form)
    assert response.status_code == 422
    assert 'class="field bad' in html(response)
    assert not Task.objects.exists()


def test_an_edit_changes_what_was_changed_and_tells_it(page: Client, shop: Workspace) -> None:
    task = task_row(shop, description="long", estimated_hours=2)
    form = {"title": "Other", "priority": "0", "description": "long", "estimated_hours": "2"}
    page.post(f"/tasks/{task.id}/edit/", form | {"expects_changes": "on", "seen": ""})
    task.refresh_from_db()
    assert task.title == "Other"
    assert Event.objects.get().payload == {"fields": ["title"]}


def test_an_edit_does_not_write_over_what_others_changed_meanwhile(
    page: Client, shop: Workspace
) -> None:
    task = task_row(shop)
    seen = task.updated_at.isoformat()
    Task.objects.get(id=task.id).save()
    form = {"title": "Mine", "priority": "0", "seen": seen}
    response = page.post(f"/tasks/{task.id}/edit/", form)
    assert response.status_code == 422
    assert "changed while you edited it" in html(response)
    task.refresh_from_db()
    assert task.title == "Do it"


def test_a_state_moves_only_where_the_table_allows(page: Client, shop: Workspace) -> None:
    task = task_row(shop, status="DONE")
    response = page.post(f"/tasks/{task.id}/move/", {"status": "BACKLOG"}, follow=True)
    assert "a task that is DONE cannot become BACKLOG" in html(response)
    response = page.post(f"/tasks/{task.id}/move/", {"status": "MERGED"}, follow=True)
    assert "no state a task can be given by hand" in html(response)
    page.post(f"/tasks/{task.id}/move/", {"status": "READY"})
    task.refresh_from_db()
    assert task.status == "READY"


# -- dependencies --------------------------------------------------------------------------------


def test_a_dependency_is_named_by_title_key_or_digits(page: Client, shop: Workspace) -> None:
    task = task_row(shop)
    others = [task_row(shop, "By title"), task_row(shop, "b", key="by-key"), task_row(shop, "c")]
    for text in ("By title", "by-key", others[2].id.hex[:10]):
        page.post(f"/tasks/{task.id}/after/", {"on": text})
    found = set(task.dependency_edges.values_list("depends_on_id", flat=True))
    assert found == {other.id for other in others}
    page.post(f"/tasks/{task.id}/after/{others[0].id}/remove/")
    assert task.dependency_edges.count() == 2


@pytest.mark.parametrize("text", ["", "nobody", "\0", "zz"])
def test_a_name_of_no_task_is_refused_in_words(page: Client, shop: Workspace, text: str) -> None:
    response = page.post(f"/tasks/{task_row(shop).id}/after/", {"on": text}, follow=True)
    assert 'class="notice error"' in html(response)


def test_a_cycle_is_refused_with_its_path(page: Client, shop: Workspace) -> None:
    first, second = task_row(shop, "A"), task_row(shop, "B")
    page.post(f"/tasks/{second.id}/after/", {"on": "A"})
    text = html(page.post(f"/tasks/{first.id}/after/", {"on": "B"}, follow=True))
    assert "would form a cycle" in text
    assert "A -&gt; B" in text
    assert not first.dependency_edges.exists()


# -- who may -------------------------------------------------------------------------------------


def _deeds(workspace: Workspace, task: Task, blocker: Blocker) -> list[str]:
    here, one = f"/workspaces/{workspace.id}", f"/tasks/{task.id}"
    return [
        f"{here}/tasks/new/",
        f"{here}/tasks/import/",
        f"{here}/tasks/ticked/",
        f"{one}/edit/",
        f"{one}/move/",
        f"{one}/delete/",
        f"{one}/after/",
        f"{one}/after/{uuid4()}/remove/",
        f"/questions/{blocker.id}/answer/",
        f"{here}/settings/",
        f"{here}/settings/members/",
        f"{here}/settings/members/remove/",
        f"{here}/settings/forget/",
    ]


def test_a_viewer_is_offered_nothing_and_may_do_nothing(client: Client, shop: Workspace) -> None:
    task = task_row(shop)
    blocker = Blocker.objects.create(task=task, reason="question", question="Which?")
    member(client, shop, "viewer")
    for url in (f"/workspaces/{shop.id}/", f"/tasks/{task.id}/", "/questions/"):
        text = html(client.get(url))
        assert "Which?" in text
        for offered in ("/answer/", "/tasks/new/", "/edit/", "/move/", "/after/", 'form="bulk"'):
            assert offered not in text, (url, offered)
    for url in _deeds(shop, task, blocker):
        assert client.post(url, {"title": "x", "answer": "y"}).status_code == 403, url
    assert "may not do this" in html(client.get(f"/tasks/{task.id}/edit/"))


def test_a_stranger_finds_nothing_to_do(client: Client, shop: Workspace) -> None:
    task = task_row(shop)
    blocker = Blocker.objects.create(task=task, reason="question", question="Which?")
    client.force_login(User.objects.create(username="eve"))
    for url in _deeds(shop, task, blocker):
        assert client.post(url).status_code == 404, url
    for part in ("graph/", "graph/states/", "parts/tasks/", "tasks/options/", "settings/"):
        assert client.get(f"/workspaces/{shop.id}/{part}").status_code == 404, part
    assert client.get(f"/tasks/{task.id}/part/").status_code == 404
    assert client.get(f"/tasks/{task.id}/edges/").status_code == 404


def test_an_operator_works_and_sets_nothing_up(client: Client, shop: Workspace) -> None:
    member(client, shop, "operator")
    assert client.get(f"/workspaces/{shop.id}/tasks/new/").status_code == 200
    settings = html(client.get(f"/workspaces/{shop.id}/settings/"))
    assert "Only admins" in settings
    assert "/members/" not in settings
    assert client.post(f"/workspaces/{shop.id}/settings/forget/").status_code == 403


def test_a_form_of_another_site_does_nothing(operator: User, shop: Workspace) -> None:
    task = task_row(shop)
    blocker = Blocker.objects.create(task=task, reason="question", question="Which?")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(operator)
    for url in [*_deeds(shop, task, blocker), "/workspaces/new/", "/account/tokens/", "/theme/"]:
        assert strict.post(url).status_code == 403, url


# -- what is shown -------------------------------------------------------------------------------


def test_titles_answers_and_files_are_only_ever_text(page: Client, shop: Workspace) -> None:
    task = task_row(
        shop, HOSTILE, description=HOSTILE, key=HOSTILE, external_url="javascript:alert(1)"
    )
    Blocker.objects.create(task=task, reason="question", question=HOSTILE)
    urls = [
        f"/workspaces/{shop.id}/",
        f"/workspaces/{shop.id}/?view=list",
        f"/workspaces/{shop.id}/?q={HOSTILE}",
        f"/workspaces/{shop.id}/graph/",
        f"/workspaces/{shop.id}/tasks/options/?on=script",
        f"/tasks/{task.id}/",
        f"/tasks/{task.id}/edit/",
        f"/tasks/{task.id}/delete/",
        "/questions/",
    ]
    for url in urls:
        text = html(page.get(url))
        assert "&lt;script&gt;" in text, url
        assert "<script>" not in text, url
        assert "javascript:" not in text, url


def test_who_answers_comes_back_to_the_page_and_not_to_a_part_of_it(
    page: Client, shop: Workspace
) -> None:
    task = task_row(shop, status="BLOCKED")
    blocker = Blocker.objects.create(task=task, reason="question", question="Which?")
    for part, back in (
        (f"/workspaces/{shop.id}/parts/tasks/?q=do", f"/workspaces/{shop.id}/?view=board"),
        (f"/tasks/{task.id}/part/", f"/tasks/{task.id}/"),
    ):
        there = re.findall(r'name="next" value="([^"]+)"', html(page.get(part)))
        assert there
        assert all(one.startswith(back) for one in there), part
    response = page.post(f"/questions/{blocker.id}/answer/", {"answer": "This", "next": "/"})
    assert response["Location"] == "/"
    task.refresh_from_db()
    assert task.status == "READY"
    for bad in ({}, {"answer": " "}, {"answer": "x" * 20_001}, {"answer": "a\0b"}):
        refused = page.post(f"/questions/{blocker.id}/answer/", bad, follow=True)
        assert 'class="notice error"' in html(refused)
    again = page.post(f"/questions/{blocker.id}/answer/", {"answer": "That"}, follow=True)
    assert "answered already" in html(again)


def test_filters_narrow_and_nonsense_is_left_out(page: Client, shop: Workspace) -> None:
    task_row(shop, "Alpha", status="READY")
    task_row(shop, "Beta", status="DONE")
    url = f"/workspaces/{shop.id}/"
    assert "Beta" not in html(page.get(url, {"q": "alp"}))
    listed = html(page.get(url, {"status": ["DONE", "nonsense"], "sort": "x", "view": "y"}))
    assert "Beta" in listed
    assert "Alpha" not in listed
    for query in ({"q": "\0"}, {"q": "x" * 5000}, {"page": "-1"}, {"sort": "'"}):
        assert page.get(url, query).status_code == 200


def test_a_running_task_shows_its_run_and_stage(page: Client, shop: Workspace) -> None:
    task = task_row(shop, status="IN_PROGRESS")
    batch = batch_row(shop, "RUNNING")
    run = run_row(batch, RunStatus.RUNNING, task=task, stage="agent", last_line="reading x.py")
    text = html(page.get(f"/workspaces/{shop.id}/"))
    assert f"/runs/{run.id}/" in text
    assert "agent" in text
    assert "reading x.py" in text
    part = html(page.get(f"/workspaces/{shop.id}/parts/tasks/{task.id}/"))
    assert part.startswith('<article class="card"')
    assert page.get(f"/workspaces/{shop.id}/parts/tasks/{uuid4()}/").status_code == 404


def test_what_the_agent_said_last_is_not_said_of_the_gates(page: Client, shop: Workspace) -> None:
    task = task_row(shop, status="IN_PROGRESS")
    batch = batch_row(shop, "RUNNING")
    run_row(batch, RunStatus.RUNNING, task=task, stage="gates", last_line="reading x.py")
    for url in (
        f"/workspaces/{shop.id}/",
        f"/workspaces/{shop.id}/?view=list",
        f"/batches/{batch.id}/",
    ):
        text = html(page.get(url))
        assert "gates" in text, url
        assert "reading x.py" not in text, url
