"""The page that starts a batch: what it offers, refuses, and makes."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from batches.models import Batch, CommandEngine, Run
from tasks.models import Membership, Workspace
from tests.batches.conducting import statuses
from tests.codeframe_site.browsing import html
from tests.factories import make_batch, make_task, make_workspace
from tests.fakes import AGENT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    CommandEngine.objects.create(name="fixer", argv=AGENT)
    CommandEngine.objects.create(name="broken", argv=["/no/such/program"])
    return make_workspace(tmp_path)


@pytest.fixture
def page(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


def url(workspace: Workspace) -> str:
    return f"/workspaces/{workspace.id}/run/"


def start(page: Client, workspace: Workspace, **fields: Any) -> HttpResponse:
    data = {"action": "start", "engine": "fixer", "key": "k"} | fields
    response: HttpResponse = page.post(url(workspace), data)
    return response


def test_only_engines_that_work_are_offered_and_the_others_say_why(
    page: Client, workspace: Workspace
) -> None:
    text = html(page.get(url(workspace)))
    assert '<option value="fixer" selected>' in text
    assert '<option value="broken"' not in text
    assert "/no/such/program is not an executable file" in text


def test_every_ready_task_is_started_with_the_options_that_were_chosen(
    page: Client, workspace: Workspace
) -> None:
    make_task(workspace, "a")
    make_task(workspace, "b")
    make_task(workspace, "later", status="BACKLOG")
    response = start(page, workspace, max_retries="2", timeout_min="30", strategy="serial")
    batch = Batch.objects.get()
    assert response["Location"] == f"/batches/{batch.id}/"
    assert set(statuses(batch)) == {"a", "b"}
    assert (batch.max_retries, batch.timeout_s, batch.max_parallel) == (2, 1800, 1)
    assert (batch.origin, batch.created_by, batch.engine) == ("page", "ada", "fixer")


def test_drawing_the_plan_anew_starts_nothing(page: Client, workspace: Workspace) -> None:
    make_task(workspace, "a")
    for action in ("plan", "", "START"):
        assert start(page, workspace, action=action).status_code == 200
    assert not Batch.objects.exists()


def test_what_is_missing_can_be_added_or_left_out_with_what_waits_for_it(
    page: Client, workspace: Workspace
) -> None:
    schema = make_task(workspace, "Schema", status="BACKLOG")
    export = make_task(workspace, "Export", after=[schema])
    make_task(workspace, "Report", after=[export])
    make_task(workspace, "Alone")
    text = html(page.get(url(workspace)))
    assert "not in this batch" in text
    assert "Start 3 tasks" in text
    refused = start(page, workspace)
    assert refused.status_code == 422
    assert not Batch.objects.exists()
    assert "Start 4 tasks" in html(start(page, workspace, action="plan", add=schema.id))
    assert "Start 1 task<" in html(start(page, workspace, action="plan", drop=export.id))
    start(page, workspace, drop=export.id)
    assert statuses(Batch.objects.get()) == {"Alone": "QUEUED"}


def test_chosen_tasks_alone_are_run(page: Client, workspace: Workspace) -> None:
    one = make_task(workspace, "one")
    make_task(workspace, "two")
    token = page.get(url(workspace), {"task": one.id, "csrfmiddlewaretoken": "secret"})
    assert token["Location"] == f"{url(workspace)}?task={one.id}"
    assert "Start 1 task<" in html(page.get(url(workspace), {"task": one.id}))
    start(page, workspace, task=one.id)
    assert statuses(Batch.objects.get()) == {"one": "QUEUED"}


def test_a_task_that_cannot_run_is_named_with_a_way_out(page: Client, workspace: Workspace) -> None:
    done = make_task(workspace, "old", status="DONE")
    text = html(page.get(url(workspace), {"task": done.id}))
    assert "is done" in text
    assert f'name="drop" value="{done.id}"' in text
    assert start(page, workspace, task=done.id).status_code == 422


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"max_parallel": "0"}, "must be a whole number from 1 to 64"),
        ({"max_parallel": "9" * 400}, "must be a whole number from 1 to 64"),
        ({"max_retries": "²"}, "must be a whole number from 0 to 10"),
        ({"timeout_min": "-1"}, "must be a whole number from 0 to"),
        ({"strategy": "magic\x00"}, "must be one of"),
        ({"engine": "nobody"}, "there is no engine"),
        ({"engine": "broken"}, "is not an executable file"),
        ({"gates": "no-such-gate"}, "no-such-gate"),
        ({"gates": ","}, "list of names"),
        ({"land": "<script>"}, "must be one of"),
    ],
)
def test_what_is_wrong_is_told_at_its_field_and_starts_nothing(
    page: Client, workspace: Workspace, fields: dict[str, str], told: str
) -> None:
    make_task(workspace, "a")
    response = start(page, workspace, **fields)
    assert response.status_code == 422
    text = html(response)
    assert told in text
    assert "<script>" not in text
    assert not Batch.objects.exists()


def test_a_busy_workspace_names_its_batch_with_a_link(page: Client, workspace: Workspace) -> None:
    other = make_batch(workspace, [make_task(workspace, "a")])
    make_task(workspace, "b")
    for response in (page.get(url(workspace)), start(page, workspace)):
        assert f'<a href="/batches/{other.id}/"><code>{other.short_id}</code></a> is pending' in (
            html(response)
        )
    assert Batch.objects.count() == 1


def test_the_same_form_sent_again_leads_to_the_batch_it_made(
    page: Client, workspace: Workspace
) -> None:
    make_task(workspace, "a")
    first = start(page, workspace)
    Run.objects.all().delete()
    Batch.objects.update(status="FAILED", finished_at=Batch.objects.get().created_at)
    assert start(page, workspace)["Location"] == first["Location"]
    assert Batch.objects.count() == 1
    start(page, workspace, key="another")
    assert Batch.objects.count() == 2


def test_a_repository_that_is_gone_is_said_before_the_start(
    page: Client, workspace: Workspace, tmp_path: Path
) -> None:
    make_task(workspace, "a")
    (tmp_path / "repo").rename(tmp_path / "moved")
    assert 'role="alert"' in html(page.get(url(workspace)))
    assert start(page, workspace).status_code == 422


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 200), (None, 404)])
def test_only_who_may_start_sees_the_page(
    client: Client, workspace: Workspace, role: str | None, status: int
) -> None:
    user = User.objects.create(username="vic")
    if role:
        Membership.objects.create(workspace=workspace, user=user, role=role)
    client.force_login(user)
    make_task(workspace, "a")
    assert client.get(url(workspace)).status_code == status
    start(client, workspace)
    assert Batch.objects.exists() == (role == "operator")


def test_a_budget_that_nothing_could_keep_to_is_refused_unless_it_is_said(
    page: Client, workspace: Workspace
) -> None:
    make_task(workspace, "a")
    refused = start(page, workspace, budget="2.50", model="claude-sonnet-4-5")
    assert refused.status_code == 422
    assert "the engine fixer does not report what it uses" in html(refused)
    start(page, workspace, budget="$2.50", model="claude-sonnet-4-5", allow_unpriced="1")
    batch = Batch.objects.get()
    assert (str(batch.budget), batch.model) == ("2.5000", "claude-sonnet-4-5")


@pytest.mark.parametrize(
    ("field", "text"), [("budget", "0"), ("budget", "a lot"), ("budget", "nan"), ("model", "a b")]
)
def test_a_senseless_budget_or_model_is_told_at_its_field(
    page: Client, workspace: Workspace, field: str, text: str
) -> None:
    make_task(workspace, "a")
    response = start(page, workspace, **{field: text})
    assert response.status_code == 422
    assert '<p class="errors">must be ' in html(response)
    assert not Batch.objects.exists()
