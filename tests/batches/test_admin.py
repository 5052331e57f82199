from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import DjangoAssertNumQueries

from batches.models import Batch, CommandEngine, RecipeCommand
from tasks import admin_kit
from tasks.models import AuditEntry
from tests.api.rows import known_workspace
from tests.codeframe_site.rows import batch_row, many_runs, run_row, workspace_row
from tests.factories import make_batch, make_task, make_workspace

pytestmark = pytest.mark.django_db

BATCHES = "/admin/batches/batch/"
RUNS = "/admin/batches/run/"
RECIPE = "/admin/batches/recipecommand/"
ENGINES = "/admin/batches/commandengine/"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


def act(client: Client, url: str, action: str, *rows: Any) -> str:
    data = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    response = client.post(url, data, follow=True)
    return " | ".join(str(message) for message in response.context["messages"])


def test_batches_are_stopped_and_cancelled_by_the_lifecycle(staff: Client) -> None:
    one, two = (batch_row(workspace_row(name), "RUNNING") for name in ("one", "two"))
    ended = batch_row(workspace_row("three"))
    assert "1 told to stop" in act(staff, BATCHES, "stop", one)
    told = act(staff, BATCHES, "cancel", two, ended)
    assert "1 cancelled" in told
    assert f"batch {ended.short_id} is COMPLETED; it cannot be stopped" in told
    for batch, mode in ((one, "stop"), (two, "cancel")):
        batch.refresh_from_db()
        assert (batch.status, batch.stop_mode) == ("CANCELLING", mode)
        assert batch.stop_reason == f"{mode} by ada in the admin"


def test_a_batch_is_resumed_and_a_second_one_refused_in_words(
    staff: Client, tmp_path: Path
) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    act(staff, BATCHES, "cancel", batch)
    other = batch_row(workspace, "FAILED")
    assert "1 resumed" in act(staff, BATCHES, "resume", batch)
    assert f"batch {batch.short_id} is PENDING in this workspace" in (
        act(staff, BATCHES, "resume", other)
    )


def test_offered_set_up_commands_are_decided_on_and_more_than_allowed_refused(
    staff: Client,
) -> None:
    workspace = known_workspace()
    rows = [
        RecipeCommand.objects.create(workspace=workspace, text=f"pip install p{n}")
        for n in range(13)
    ]
    told = act(staff, RECIPE, "approve", *rows)
    assert "12 approved" in told
    assert "12 set-up commands are approved already" in told
    assert "1 refused" in act(staff, RECIPE, "refuse", rows[5])
    decided = dict(RecipeCommand.objects.values_list("text", "decision"))
    assert decided["pip install p5"] == "refused"
    assert list(decided.values()).count("approved") == 11
    for name in ("environment", "trustedconfig", "recipecommand"):
        assert staff.get(f"/admin/batches/{name}/?q=abcd").status_code == 200


def test_a_run_is_told_to_stop(staff: Client) -> None:
    batch = batch_row(workspace_row(), "RUNNING")
    running, ended = run_row(batch, "RUNNING"), run_row(batch, position=1)
    told = act(staff, RUNS, "stop", running, ended)
    assert "1 told to stop" in told
    assert "so there is nothing to stop" in told
    running.refresh_from_db()
    assert running.stop_requested


def test_many_refusals_are_counted(staff: Client) -> None:
    workspace = workspace_row()
    rows = [batch_row(workspace) for _ in range(13)]
    told = act(staff, BATCHES, "stop", *rows)
    assert told.count("cannot be stopped") == 10
    assert "and 3 more were refused" in told


@pytest.mark.parametrize("count", [3, 300])
def test_the_number_of_queries_is_the_same_for_any_number_of_rows(
    staff: Client, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    many_runs(batch_row(workspace_row()), count)
    for model in ("run", "stage", "gaterecord", "finding"):
        with django_assert_num_queries(4):
            assert staff.get(f"/admin/batches/{model}/").status_code == 200
    with django_assert_num_queries(5):
        assert staff.get(BATCHES).status_code == 200


def test_a_batch_leads_to_its_page(staff: Client) -> None:
    batch = batch_row(workspace_row())
    assert (
        f'href="/batches/{batch.id}/"' in staff.get(f"{BATCHES}{batch.pk}/change/").content.decode()
    )


def test_an_engine_is_set_up(staff: Client) -> None:
    staff.post(
        f"{ENGINES}add/",
        {
            "name": "echo",
            "argv": '["sh", "-c", "true"]',
            "prompt_via": "file",
            "pass_env": "[]",
            "enabled": "on",
        },
    )
    engine = CommandEngine.objects.get()
    assert (engine.name, engine.argv, engine.enabled) == ("echo", ["sh", "-c", "true"], True)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("argv", '"sh"', "argv must be a list"),
        ("argv", "[]", "required"),
        ("argv", '["no-such-program-anywhere"]', "no-such-program-anywhere"),
        ("argv", '["sh", "{nothing}"]', "is not a placeholder"),
        ("pass_env", '["CODEFRAME_SECRET_KEY"]', "CODEFRAME_SECRET_KEY"),
        ("name", "command", "is taken"),
        ("name", "two words", "slug"),
    ],
)
def test_an_engine_that_cannot_work_is_refused(
    staff: Client, field: str, value: str, why: str
) -> None:
    data = {"name": "agent", "argv": '["sh"]', "prompt_via": "file", "pass_env": "[]"}
    page = staff.post(f"{ENGINES}add/", data | {field: value})
    assert page.status_code == 200
    assert why in page.content.decode()
    assert not CommandEngine.objects.exists()


# -- what is stuck -------------------------------------------------------------------------------


def test_a_batch_that_nobody_holds_is_sent_again_and_others_are_left_alone(staff: Client) -> None:
    before = timezone.now() - timedelta(minutes=5)
    lost = batch_row(workspace_row("one"), "RUNNING", lease_owner="x", lease_expires_at=before)
    held = batch_row(
        workspace_row("two"),
        "RUNNING",
        lease_owner="x",
        lease_expires_at=timezone.now() + timedelta(minutes=5),
    )
    ended = batch_row(workspace_row("three"))
    told = act(staff, BATCHES, "recover", lost, held, ended)
    assert "1 sent to the queue again" in told
    assert f"batch {held.short_id} is RUNNING: a living worker holds it" in told
    assert f"batch {ended.short_id} is COMPLETED: it ended" in told
    assert OrmQ.objects.count() == 1
    assert AuditEntry.objects.filter(action="batch.recover", user="ada").count() == 1


def test_the_admin_begins_with_what_is_stuck(staff: Client) -> None:
    assert "Stuck: nothing" in staff.get("/admin/").content.decode()
    before = timezone.now() - timedelta(minutes=5)
    batch = batch_row(workspace_row(), "RUNNING", lease_owner="x", lease_expires_at=before)
    Batch.objects.update(created_at=before, sent_at=before)
    text = staff.get("/admin/").content.decode()
    assert batch.short_id in text
    assert "its worker is gone" in text


def test_a_list_counts_its_rows_up_to_a_bound(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_kit, "MOST_COUNTED", 120)
    many_runs(batch_row(workspace_row()), 300)
    with CaptureQueriesContext(connection) as context:
        assert "120 runs" in staff.get(RUNS).content.decode()
    counts = [q["sql"] for q in context.captured_queries if "COUNT(" in q["sql"].upper()]
    assert counts == []
