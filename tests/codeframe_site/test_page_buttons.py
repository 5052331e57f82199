"""What the pages' buttons do, and for whom."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from batches.models import Batch, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from tasks.models import Membership
from tests.codeframe_site.browsing import every_page, html, press
from tests.codeframe_site.rows import batch_row, run_row, workspace_row
from tests.factories import make_batch, make_task, make_workspace


def test_cancel_ends_a_waiting_batch_at_once_and_says_so(page: Client, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    response = press(page, f"/batches/{batch.id}/", "cancel")
    batch.refresh_from_db()
    assert batch.status == BatchStatus.CANCELLED
    assert "ada" in batch.stop_reason
    assert f"Batch {batch.short_id} was told to cancel" in html(response)


def test_stop_lets_a_running_batch_finish_what_runs(page: Client) -> None:
    batch = batch_row(workspace_row(), BatchStatus.RUNNING)
    press(page, f"/batches/{batch.id}/", "stop")
    batch.refresh_from_db()
    assert (batch.status, batch.stop_mode) == (BatchStatus.CANCELLING, "stop")


def test_resume_puts_it_back_in_the_queue_with_a_message(page: Client, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    press(page, f"/batches/{batch.id}/", "cancel")
    press(page, f"/batches/{batch.id}/", "resume")
    batch.refresh_from_db()
    assert (batch.status, batch.round) == (BatchStatus.PENDING, 2)
    assert Run.objects.filter(batch=batch, status=RunStatus.QUEUED).count() == 1


def test_a_refusal_is_shown_in_words_and_changes_nothing(page: Client) -> None:
    workspace = workspace_row()
    batch = batch_row(workspace, BatchStatus.FAILED)
    form = html(page.get(f"/batches/{batch.id}/"))
    Batch.objects.filter(id=batch.id).update(status=BatchStatus.COMPLETED)
    token = re.search(r'value="(\w+)"', form)
    assert token
    response = page.post(
        f"/batches/{batch.id}/resume/", {"csrfmiddlewaretoken": token[1]}, follow=True
    )
    assert response.status_code == 200
    assert 'class="notice error"' in html(response)
    assert "only PARTIAL, FAILED and CANCELLED batches can be resumed" in html(response)


def test_a_busy_workspace_refuses_a_resume_and_names_the_other_batch(page: Client) -> None:
    workspace = workspace_row()
    other = batch_row(workspace, BatchStatus.RUNNING)
    batch = batch_row(workspace, BatchStatus.FAILED)
    response = press(page, f"/batches/{batch.id}/", "resume")
    assert f"batch {other.short_id} is RUNNING in this workspace" in html(response)


def test_one_run_can_be_stopped(page: Client) -> None:
    batch = batch_row(workspace_row(), BatchStatus.RUNNING)
    run = run_row(batch, RunStatus.RUNNING)
    press(page, f"/runs/{run.id}/", "stop")
    run.refresh_from_db()
    assert run.stop_requested


@pytest.mark.parametrize("verb", ["stop", "cancel", "resume"])
def test_a_link_or_a_form_of_another_site_does_nothing(page: Client, verb: str) -> None:
    batch = batch_row(workspace_row(), BatchStatus.RUNNING)
    url = f"/batches/{batch.id}/{verb}/"
    assert page.get(url).status_code == 405
    foreign = page.post(url)
    assert foreign.status_code == 403
    assert "Nothing was done" in html(foreign)
    batch.refresh_from_db()
    assert batch.status == BatchStatus.RUNNING


# -- who may see and do --------------------------------------------------------------------------


def test_what_one_is_no_member_of_does_not_exist(client: Client, db: None) -> None:
    urls = every_page("secret-plans")
    client.force_login(User.objects.create(username="eve"))
    for url in urls:
        response = client.get(url)
        assert response.status_code == (200 if url in ("/", "/batches/") else 404), url
        assert "secret-plans" not in html(response), url


def test_a_viewer_sees_and_cannot_steer(client: Client, db: None) -> None:
    workspace = workspace_row()
    batch = batch_row(workspace, BatchStatus.RUNNING)
    viewer = User.objects.create(username="vic")
    Membership.objects.create(workspace=workspace, user=viewer, role="viewer")
    client.force_login(viewer)
    text = html(client.get(f"/batches/{batch.id}/"))
    assert batch.short_id in text
    assert "/cancel/" not in text
    refused = client.post(f"/batches/{batch.id}/cancel/", follow=True)
    assert "this needs the role operator" in html(refused)
    batch.refresh_from_db()
    assert batch.status == BatchStatus.RUNNING
