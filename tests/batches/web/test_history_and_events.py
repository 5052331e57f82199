"""Lists that go on by cursor, and what they filter by."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from batches.models import Batch
from tasks.models import Event, Workspace
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, many_runs, run_row, workspace_row

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m"


@pytest.fixture
def page(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


def older(text: str) -> str:
    found = re.search(r'rel="next" href="([^"]+)"', text)
    return found[1].replace("&amp;", "&") if found else ""


def test_the_history_goes_on_by_cursor_and_shows_each_batch_once(page: Client) -> None:
    workspace = workspace_row()
    now = timezone.now()
    for number in range(120):
        row = batch_row(workspace)
        # Many were made at the same moment, so the id has to decide.
        Batch.objects.filter(id=row.id).update(created_at=now - timedelta(seconds=number // 40))
    seen: list[str] = []
    url = "/batches/"
    while url:
        text = html(page.get(url))
        seen += re.findall(r'<a href="/batches/([-\w]+)/"><code>', text)
        url = older(text) and f"/batches/{older(text)}"
    assert len(seen) == len(set(seen)) == 120


def test_batches_are_filtered_by_workspace_state_outcome_and_engine(page: Client) -> None:
    one, two = workspace_row("one"), workspace_row("two")
    wanted = batch_row(one, "FAILED", verification="failed")  # type: ignore[arg-type]
    batch_row(one, verification="passed")
    batch_row(two, "FAILED")  # type: ignore[arg-type]
    query = {"workspace": str(one.id), "status": "FAILED", "verification": "failed"}
    text = html(page.get("/batches/", query | {"engine": "command"}))
    assert re.findall(r'<a href="/batches/([-\w]+)/"><code>', text) == [str(wanted.id)]
    assert "No batch is like that" in html(page.get("/batches/", query | {"engine": "x\x00"}))


@pytest.mark.parametrize("cursor", ["x", "2026-01-01_", f"9999-99-99_{'0' * 32}", "_", "1" * 500])
def test_a_senseless_cursor_is_no_error(page: Client, cursor: str) -> None:
    workspace = workspace_row()
    batch_row(workspace)
    for url in ("/batches/", f"/workspaces/{workspace.id}/events/"):
        assert page.get(url, {"before": cursor}).status_code == 200


# -- events --------------------------------------------------------------------------------------


def add_event(workspace: Workspace, seq: int, type: str, **columns: object) -> None:
    Event.objects.create(workspace=workspace, seq=seq, type=type, **columns)


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r'data-label="No\." class="number">(\d+)<', text)]


def test_the_log_goes_back_by_cursor_without_a_gap(page: Client) -> None:
    workspace = workspace_row()
    for seq in range(1, 251):
        add_event(workspace, seq, "TASK_STATUS", payload={"status": "READY"})
    url = base = f"/workspaces/{workspace.id}/events/"
    seen: list[int] = []
    while url:
        text = html(page.get(url))
        seen += numbers(text)
        url = older(text)
        assert url.startswith(base) or not url
    assert seen == list(range(250, 0, -1))


def test_events_are_filtered_by_type_and_by_what_they_are_about(page: Client) -> None:
    workspace = workspace_row()
    batch, run = uuid4(), uuid4()
    add_event(workspace, 1, "BATCH_CREATED", batch_id=batch, payload={})
    add_event(workspace, 2, "RUN_STARTED", batch_id=batch, run_id=run, payload={"attempt": 1})
    add_event(workspace, 3, "RUN_OUTPUT", batch_id=batch, run_id=run, payload={"text": "hello"})
    add_event(workspace, 4, "TASK_CREATED", payload={"title": "x"})
    base = f"/workspaces/{workspace.id}/events/"
    for query, found in (
        ({}, [4, 2, 1]),
        ({"output": "1"}, [4, 3, 2, 1]),
        ({"type": "RUN_"}, [2]),
        ({"type": "RUN_OUTPUT"}, [3]),
        ({"type": "TASK_CREATED"}, [4]),
        ({"batch": str(batch)}, [2, 1]),
        ({"run": str(run), "part": "rows"}, [2]),
        ({"type": "NOTHING"}, [4, 2, 1]),
    ):
        assert numbers(html(page.get(base, query))) == found, query
    assert page.get(base, {"run": "no-id"}).status_code == 404


def test_a_payload_of_any_kind_is_shown_as_text(page: Client) -> None:
    workspace = workspace_row()
    for seq, (name, payload) in enumerate(
        [
            ("SOMETHING_NEW", {"what": HOSTILE}),
            ("RUN_GATE", {"gate": HOSTILE}),
            ("RUN_RETRY", {"delay_s": HOSTILE}),
            ("RUN_OUTPUT", {"text": HOSTILE, "items": "odd"}),
            ("BATCH_CREATED", []),
            ("TASK_STATUS", {"status": HOSTILE}),
        ],
        start=1,
    ):
        run = uuid4() if name.startswith("RUN") else None
        add_event(workspace, seq, name, run_id=run, payload=payload)
    response = page.get(f"/workspaces/{workspace.id}/events/", {"output": "1"})
    text = html(response)
    assert numbers(text) == [6, 5, 4, 3, 2, 1]
    assert "<script>alert" not in text
    assert "SOMETHING_NEW" in text


def test_what_an_engine_told_is_shown_item_by_item(page: Client) -> None:
    batch = batch_row(workspace_row(), engine_options={"kind": "claude"})
    run = run_row(batch)
    items = [
        {"kind": "message", "text": f"I look around {HOSTILE}"},
        {"kind": "tool_call", "name": "Bash", "text": "ls\n-la", "input": {"x": HOSTILE}},
        {"kind": "never_seen", "text": "plain"},
        "odd",
    ]
    payload = {"stream": "stdout", "text": "", "items": items}
    add_event(batch.workspace, 7, "RUN_OUTPUT", run_id=run.id, batch_id=batch.id, payload=payload)
    text = html(page.get(f"/runs/{run.id}/activity/"))
    assert "I look around &lt;script&gt;" in text
    assert '<summary class="said">Bash ls -la</summary>' in text
    assert "never seen" in text
    assert "<script>alert" not in text
    assert "/activity/" in html(page.get(f"/runs/{run.id}/"))
    plain = run_row(batch_row(workspace_row("other")))
    assert "/activity/" not in html(page.get(f"/runs/{plain.id}/"))


def test_a_batch_of_a_thousand_is_a_window_and_each_row_a_part(page: Client) -> None:
    batch = batch_row(workspace_row(), "RUNNING", total=1000)  # type: ignore[arg-type]
    many_runs(batch, 1000)
    text = html(page.get(f"/batches/{batch.id}/"))
    assert text.count('<tr id="task-') == 100
    part = html(page.get(f"/batches/{batch.id}/tasks/777/"))
    assert part.strip().startswith('<tr id="task-777"')
    assert "Task 777" in part
    assert page.get(f"/batches/{batch.id}/tasks/{10**30}/").status_code == 404
    assert text.count('<tr id="task-') == html(page.get(f"/batches/{batch.id}/?page=3")).count(
        '<tr id="task-'
    )
