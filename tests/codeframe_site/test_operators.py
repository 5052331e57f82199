"""The operators' page, and what its buttons do."""

import json
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ

from batches.models import Batch
from codeframe_site.operators import disk
from tasks.models import AuditEntry
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, workspace_row
from tests.codeframe_site.server_process import eventually

pytestmark = pytest.mark.django_db
URL = "/operators/"


def lost_batch() -> Batch:
    before = timezone.now() - timedelta(hours=1)
    batch = batch_row(
        workspace_row("lost"),
        "RUNNING",  # type: ignore[arg-type]
        lease_owner="far|boot|77|1|f|n",
        lease_expires_at=before,
    )
    Batch.objects.filter(id=batch.id).update(created_at=before, sent_at=before)
    return batch


def press(page: Client, verb: str, row_id: object) -> str:
    """The button of the row, with the token of its form."""
    text = html(page.get(URL))
    assert f'action="{URL}{verb}/"' in text
    assert f'value="{row_id}"' in text
    token = text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    data = {"id": str(row_id), "csrfmiddlewaretoken": token}
    return html(page.post(f"{URL}{verb}/", data, follow=True))


def test_only_staff_sees_it(client: Client) -> None:
    client.force_login(User.objects.create(username="vic"))
    assert client.get(URL).status_code == 404
    assert client.post(f"{URL}recover/", {"id": "x"}).status_code == 404


def test_it_tells_of_leases_workers_the_loop_and_the_disk(page: Client) -> None:
    batch_row(
        workspace_row(),
        "RUNNING",  # type: ignore[arg-type]
        lease_owner="far|boot|77|1|f|n",
        lease_expires_at=timezone.now() + timedelta(seconds=20),
    )
    batch_row(workspace_row("next"), "PENDING")  # type: ignore[arg-type]
    text = html(page.get(URL))
    for said in ("far", "77", "loop lag", "none</strong>: start one", "streams", "free"):
        assert said in text
    assert "waits for a worker to pick it up, 0 before it" in text


def test_a_stuck_batch_is_recovered_by_its_button(page: Client) -> None:
    batch = lost_batch()
    text = press(page, "recover", batch.id)
    assert f"Batch {batch.short_id} is sent to the queue again" in text
    assert OrmQ.objects.count() == 1
    assert AuditEntry.objects.filter(action="batch.recover", user="ada").exists()


def test_a_stuck_batch_is_cancelled_by_its_button(page: Client) -> None:
    batch = lost_batch()
    assert "work done so far is kept" in press(page, "cancel", batch.id)
    batch.refresh_from_db()
    assert batch.status == "CANCELLING"
    assert "ada" in batch.stop_reason


def test_staff_without_the_right_sees_no_button_and_may_not_press(client: Client) -> None:
    batch = lost_batch()
    user = User.objects.create(username="sam", is_staff=True)
    client.force_login(user)
    assert "/operators/recover/" not in html(client.get(URL))
    assert client.post(f"{URL}recover/", {"id": str(batch.id)}).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="change_batch"))
    assert "/operators/recover/" in html(client.get(URL))


@pytest.mark.parametrize("value", ["", "x", "00000000-0000-0000-0000-000000000000", "\x00"])
def test_a_row_that_is_none_is_a_page_in_words(page: Client, value: str) -> None:
    for verb in ("recover", "cancel", "stop"):
        text = html(page.get(URL))
        token = text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        data = {"id": value, "csrfmiddlewaretoken": token}
        assert page.post(f"{URL}{verb}/", data).status_code == 404


# -- disk ----------------------------------------------------------------------------------------


@pytest.fixture
def state(tmp_path: Path, settings: object) -> Path:
    settings.STATE_DIR = tmp_path  # type: ignore[attr-defined]
    for name, size in (("runs/a/x", 5000), ("stores/s/y", 90_000), ("db", 12_000)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    (tmp_path / "link").symlink_to("/")
    return tmp_path


def test_disk_is_measured_by_kind_without_following_links(state: Path) -> None:
    found = disk.measure()
    assert found.whole
    assert found.kinds["prompts, output and exit records"] >= 5000
    assert 90_000 <= found.kinds["git objects of runs"] < 200_000
    assert sum(found.kinds.values()) < 1_000_000


def test_a_request_never_waits_for_the_measurement(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = disk.measure()
    monkeypatch.setattr(disk, "measure", lambda: (time.sleep(1), measured)[1])
    began = time.monotonic()
    assert disk.last_measured() is None
    assert disk.last_measured() is None
    assert time.monotonic() - began < 0.8
    eventually(lambda: disk.last_measured() is not None, "it is measured")
    eventually(lambda: not disk._measuring.locked(), "the thread has ended")


def test_an_old_measurement_is_shown_while_a_new_one_is_made(state: Path) -> None:
    note = {"at": time.time() - 3600, "kinds": {"old": 1}, "whole": True}
    (state / "disk.json").write_text(json.dumps(note))
    found = disk.last_measured()
    assert found is not None
    assert found.kinds == {"old": 1}
    eventually(lambda: not disk._measuring.locked(), "the thread has ended")
    fresh = disk.last_measured()
    assert fresh is not None
    assert fresh.age_s < 60


def test_a_broken_note_is_no_note(state: Path) -> None:
    (state / "disk.json").write_text("[")
    assert disk.last_measured() is None
    eventually(lambda: not disk._measuring.locked(), "the thread has ended")
