"""What surrounds a page: counts, streams, and where it leads."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from batches.models.batch import BatchStatus
from tasks.events.log import record_one
from tasks.models import EventCounter, Membership
from tests.codeframe_site.browsing import html
from tests.codeframe_site.rows import batch_row, many_tasks, workspace_row


def test_the_rail_counts_open_questions_of_what_one_sees(client: Client, db: None) -> None:
    mine, other = workspace_row("mine"), workspace_row("secret-plans")
    many_tasks(mine, 2, "BLOCKED")
    many_tasks(other, 3, "BLOCKED")
    user = User.objects.create(username="vic")
    Membership.objects.create(workspace=mine, user=user, role="viewer")
    client.force_login(user)
    text = html(client.get("/"))
    assert re.search(r'id="questions-badge"[^>]*>2<', text)
    assert "secret-plans" not in text
    assert re.search(r">2<", html(client.get("/questions/badge/")))


def test_a_long_count_is_cut(page: Client) -> None:
    many_tasks(workspace_row(), 150, "BLOCKED")
    assert "99+" in html(page.get("/"))


def test_a_workspace_at_work_is_marked(page: Client) -> None:
    batch_row(workspace_row("busy-one"), BatchStatus.RUNNING)
    workspace_row("idle-one")
    rail = html(page.get("/")).split('class="rail-foot"')[0]
    assert re.search(r"busy-one <span class=\"state busy\"", rail)
    assert not re.search(r"idle-one <span", rail)


def test_the_cursor_is_read_before_the_rows(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens while a page is drawn is told to it again, and never lost."""
    workspace = workspace_row()
    record_one(workspace_id=workspace.id, type="TASK_UPDATED", payload={"fields": []})
    from codeframe_site.pages import board

    drawn = board._context

    def late(*given: object) -> object:
        EventCounter.objects.update(seq=50)
        return drawn(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(board, "_context", late)
    text = html(page.get(f"/workspaces/{workspace.id}/"))
    assert f'data-stream="/ws/workspaces/{workspace.id}/" data-cursor="1"' in text


def test_a_stranger_and_an_error_get_the_frame_without_its_rows(client: Client, db: None) -> None:
    workspace_row("secret-plans")
    text = html(client.get("/nothing"))
    assert "secret-plans" not in text
    assert "Sign in" in text


def test_operators_pages_are_for_staff(client: Client, db: None) -> None:
    client.force_login(User.objects.create(username="vic"))
    assert "/admin/" not in html(client.get("/")).replace("/admin/logout/", "")
