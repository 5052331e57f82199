from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from batches.models import CommandEngine, RecipeCommand
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
