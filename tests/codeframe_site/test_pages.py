import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from batches.models import GateRecord, Stage
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from costs.ledger import Account
from tasks.models import Blocker, Task
from tests.codeframe_site.browsing import every_page, html
from tests.codeframe_site.rows import batch_row, many_runs, many_tasks, run_row, workspace_row
from tests.costs.charging import charge

HOSTILE = "<script>alert(1)</script>\"'&"


def test_every_page_asks_a_stranger_to_sign_in(client: Client, db: None) -> None:
    for url in every_page():
        response = client.get(url)
        assert response.status_code == 302
        assert response["Location"].startswith("/login/?next=/"), url


def test_every_page_is_whole_html_with_one_heading(page: Client) -> None:
    for url in every_page():
        text = html(page.get(url))
        assert text.count("<h1") == 1, url
        assert text.rstrip().endswith("</html>"), url
        assert "{{" not in text, url
        assert "{%" not in text, url


def test_nothing_inline_that_the_policy_forbids(page: Client) -> None:
    for url in every_page():
        response = page.get(url)
        policy = response["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response["X-Content-Type-Options"] == "nosniff"
        assert not re.search(
            r"<script(?! src=)|<style|\sstyle=|\son\w+=|javascript:", html(response)
        ), url


@pytest.mark.parametrize("url", ["/batches/{}/", "/runs/{}/", "/workspaces/{}/"])
def test_an_unknown_id_is_a_page_in_words(page: Client, url: str) -> None:
    missing = uuid4()
    response = page.get(url.format(missing))
    assert response.status_code == 404
    assert f"There is no {url.split('/')[1].rstrip('s').replace('batche', 'batch')} {missing}" in (
        html(response)
    )
    assert 'href="/batches/"' in html(response)


@pytest.mark.parametrize("url", ["/nothing", "/batches/12/", "/batches/?workspace=x"])
def test_an_unknown_address_is_a_page_in_words(page: Client, url: str) -> None:
    response = page.get(url)
    assert response.status_code == 404
    assert "Not found" in html(response)
    assert "Resolver404" not in html(response)


@pytest.mark.parametrize("number", ["0", "-1", "x", "1e3", "10" * 30, "²", "999999"])
def test_a_senseless_page_number_is_no_error(page: Client, number: str) -> None:
    assert page.get("/batches/", {"page": number}).status_code == 200


def test_empty_lists_say_what_to_do(page: Client) -> None:
    assert "/workspaces/new/" in html(page.get("/"))
    assert "runbatch" in html(page.get("/batches/"))
    workspace = workspace_row()
    text = html(page.get(f"/workspaces/{workspace.id}/"))
    assert f"/workspaces/{workspace.id}/tasks/new/" in text
    assert f"/workspaces/{workspace.id}/tasks/import/" in text


def test_what_agents_and_files_wrote_is_only_ever_text(page: Client) -> None:
    workspace = workspace_row()
    task = Task.objects.create(workspace=workspace, title=HOSTILE)
    Blocker.objects.create(task=task, reason="conflict", question=HOSTILE)
    batch = batch_row(
        workspace,
        BatchStatus.FAILED,
        message=HOSTILE,
        verification="failed",
        verification_reason=HOSTILE,
        landing="held",
        landing_detail=HOSTILE,
    )
    run = run_row(
        batch, RunStatus.FAILED, title=HOSTILE, message=HOSTILE, reason="gate_failed", task=task
    )
    GateRecord.objects.create(
        batch=batch,
        run=run,
        name="pytest",
        outcome="failed",
        summary=HOSTILE,
        output_tail=HOSTILE,
        findings=[{"file": HOSTILE, "line": 3, "name": HOSTILE, "message": HOSTILE}],
    )
    Stage.objects.filter(run=run).update(detail=HOSTILE)
    for url in (f"/workspaces/{workspace.id}/", f"/batches/{batch.id}/", f"/runs/{run.id}/"):
        text = html(page.get(url))
        assert "&lt;script&gt;" in text, url
        assert "<script>" not in text, url


# -- home and workspace --------------------------------------------------------------------------


def test_home_shows_the_active_batch_even_when_a_newer_one_has_ended(page: Client) -> None:
    workspace = workspace_row()
    active = batch_row(workspace, BatchStatus.RUNNING, total=4, completed=1)
    batch_row(workspace, BatchStatus.FAILED)
    text = html(page.get("/"))
    assert f"/batches/{active.id}/" in text
    assert "running" in text
    assert "1 of 4 done" in text


def test_home_counts_what_waits_for_a_person(page: Client) -> None:
    many_tasks(workspace_row(), 2, "BLOCKED")
    assert "2 questions wait for an answer" in html(page.get("/"))


def test_the_board_has_a_column_a_state_with_its_count(page: Client) -> None:
    workspace = workspace_row()
    for status in ("DONE", "MERGED", "READY", "BLOCKED"):
        many_tasks(workspace, 2, status)
    text = html(page.get(f"/workspaces/{workspace.id}/"))
    heads = re.findall(r'<h2 id="column-\d">([\w ]+) <span class="count">(\d+)</span>', text)
    assert heads == [
        ("Backlog", "0"),
        ("Ready", "2"),
        ("In progress", "0"),
        ("Blocked", "2"),
        ("Failed", "0"),
        ("Done", "4"),
    ]


def test_a_task_names_the_first_few_it_waits_for(page: Client) -> None:
    workspace = workspace_row()
    others = many_tasks(workspace, 8, "READY")
    join = Task.objects.create(workspace=workspace, title="Join")
    for other in others:
        join.dependency_edges.create(depends_on=other)
    text = html(page.get(f"/workspaces/{workspace.id}/?status=BACKLOG"))
    assert text.count('class="dependency"') == 5
    assert "and 3 more" in text


def test_long_columns_are_cut_and_lead_on(page: Client) -> None:
    workspace = workspace_row()
    many_tasks(workspace, 130, "READY")
    url = f"/workspaces/{workspace.id}/"
    board = html(page.get(url))
    assert board.count('<article class="card"') == 20
    assert "all 130" in board
    first = html(page.get(f"{url}?status=READY"))
    assert first.count("<tr id=") == 100
    assert "?status=READY&amp;page=2" in first
    assert html(page.get(f"{url}?status=READY&page=2")).count("<tr id=") == 30


# -- batch ---------------------------------------------------------------------------------------


def test_a_batch_shows_each_task_with_state_reason_time_and_gates(page: Client) -> None:
    batch = batch_row(workspace_row(), BatchStatus.PARTIAL, total=2, completed=1, failed=1)
    run_row(
        batch, title="Good", files_changed=3, insertions=5, deletions=2, capture_commit="a" * 40
    )
    run_row(batch, RunStatus.FAILED, title="Bad", position=1, reason="timeout", message="Too long.")
    text = html(page.get(f"/batches/{batch.id}/"))
    assert "<strong>1 of 2</strong> done" in text
    assert "Too long." in text
    assert "timeout" in text
    assert "pytest" in text
    assert "+5" in text
    assert 'aria-label="1 completed, 1 failed"' in text


def test_ages_are_exact_while_they_are_short(page: Client) -> None:
    now = timezone.now()
    batch = batch_row(workspace_row(), BatchStatus.RUNNING, started_at=now - timedelta(seconds=90))
    run = run_row(
        batch, RunStatus.RUNNING, stage="agent", last_output_at=now - timedelta(seconds=5)
    )
    text = html(page.get(f"/batches/{batch.id}/"))
    assert re.search(r"output <time [^>]*>\d+ s ago</time>", text)
    assert re.search(r"runs for <time [^>]*>\d+ min \d\d s</time>", text)
    assert "runs for" in html(page.get(f"/runs/{run.id}/"))


def test_superseded_attempts_are_not_listed_but_linked_from_the_run(page: Client) -> None:
    batch = batch_row(workspace_row())
    first = run_row(batch, RunStatus.FAILED, superseded=True)
    second = run_row(batch, attempt=2)
    text = html(page.get(f"/batches/{batch.id}/"))
    table = text.partition('class="runs"')[2].partition("</table>")[0]
    assert f"/runs/{second.id}/" in table
    assert f"/runs/{first.id}/" not in table
    assert f"/runs/{first.id}/" in html(page.get(f"/runs/{second.id}/"))


def test_a_batch_of_many_tasks_is_cut_with_a_link_on(page: Client) -> None:
    batch = batch_row(workspace_row())
    many_runs(batch, 105)
    assert "page=2" in html(page.get(f"/batches/{batch.id}/"))
    second = html(page.get(f"/batches/{batch.id}/?page=2"))
    table = second.partition('class="runs"')[2].partition("</table>")[0]
    assert "Task 104" in table
    assert "Task 99<" not in table


@pytest.mark.parametrize(
    ("status", "mode", "buttons"),
    [
        (BatchStatus.PENDING, "", ["stop", "cancel"]),
        (BatchStatus.RUNNING, "", ["stop", "cancel"]),
        (BatchStatus.CANCELLING, "stop", ["cancel"]),
        (BatchStatus.CANCELLING, "cancel", []),
        (BatchStatus.COMPLETED, "", []),
        (BatchStatus.PARTIAL, "", ["resume"]),
        (BatchStatus.FAILED, "", ["resume"]),
        (BatchStatus.CANCELLED, "", ["resume"]),
    ],
)
def test_only_the_buttons_that_make_sense_are_shown(
    page: Client, status: BatchStatus, mode: str, buttons: list[str]
) -> None:
    batch = batch_row(workspace_row(), status, stop_mode=mode)
    text = html(page.get(f"/batches/{batch.id}/"))
    assert re.findall(rf'action="/batches/{batch.id}/(\w+)/"', text) == buttons


def test_browsers_that_ask_for_an_icon_by_its_old_name_get_it(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/static/codeframe/icon.svg")


def test_a_run_leads_to_its_task_and_so_do_costs(page: Client) -> None:
    workspace = workspace_row()
    task = Task.objects.create(workspace=workspace, title="Do it")
    batch = batch_row(workspace)
    run = run_row(batch, task=task)
    charge(Account(workspace_id=workspace.id, task_id=task.id, batch_id=batch.id), "1.5")
    for url in (f"/runs/{run.id}/", "/costs/"):
        assert f'href="/tasks/{task.id}/"' in html(page.get(url)), url
