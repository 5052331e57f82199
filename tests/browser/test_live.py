"""Pages follow what happens by themselves, and lose nothing when the connection is lost."""

import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.installation import Installation

NEW_CARD = ".card:has-text('{}')"


@pytest.fixture(scope="module")
def shop(installation: Installation, worker: None) -> str:
    workspace = installation.shop()
    installation.add_agent()
    return workspace


@pytest.fixture
def frames(page: Page) -> list[str]:
    """What came over the page's sockets."""
    came: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda f: came.append(str(f))))
    return came


@pytest.fixture
def board(page: Page, shop: str, frames: list[str]) -> Iterator[Page]:
    """Open and live; it must never be loaded again."""
    page.goto(f"/workspaces/{shop}/")
    expect(page.locator("#live")).to_have_text("Live")
    page.evaluate("window.loadedOnce = true")
    yield page
    assert page.evaluate("window.loadedOnce")


def until(page: Page, condition: Callable[[], bool]) -> None:
    """Lets the page's events in while it waits."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


def column(page: Page, name: str, title: str) -> Locator:
    return page.locator(".column", has=page.get_by_role("heading", name=name)).locator(
        NEW_CARD.format(title)
    )


def test_a_task_is_seen_to_run_and_to_be_done(
    board: Page, installation: Installation, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    installation.add_task("shop", "Paint", "print mixing colours", f"wait-file {go}", "write a b")
    expect(column(board, "Ready", "Paint")).to_be_visible()
    installation.good("runbatch", "-w", "shop", "--all-ready", "--engine", "fixer", "--detach")
    running = column(board, "In progress", "Paint")
    expect(running).to_contain_text("agent")
    expect(running).to_contain_text("mixing colours")
    go.touch()
    expect(column(board, "Done", "Paint")).to_be_visible()
    expect(board.locator(".now")).to_contain_text("completed")


def test_what_is_being_written_is_not_taken_away(board: Page, installation: Installation) -> None:
    installation.add_task("shop", "Ask me")
    installation.ask(installation.id_of("tasks_task", "title", "Ask me"), "Which colour?")
    field = board.get_by_label("Answer")
    field.fill("Bl")
    badge = board.locator("#questions-badge")
    expect(badge).to_contain_text("1")
    installation.add_task("shop", "Meanwhile")
    installation.ask(installation.id_of("tasks_task", "title", "Meanwhile"), "And the size?")
    expect(badge).to_contain_text("2")
    expect(field).to_have_value("Bl")
    expect(field).to_be_focused()
    expect(column(board, "Ready", "Meanwhile")).to_have_count(0)
    field.fill("")
    expect(column(board, "Ready", "Meanwhile")).to_be_visible()
    expect(board.get_by_text("And the size?")).to_be_visible()


def test_the_focus_stays_where_it_was(board: Page, installation: Installation) -> None:
    installation.add_task("shop", "Stay")
    link = board.get_by_role("link", name="Stay", exact=True)
    link.focus()
    installation.add_task("shop", "Come")
    expect(column(board, "Ready", "Come")).to_be_visible()
    expect(link).to_be_focused()


def test_ticks_stay_ticked(board: Page, installation: Installation) -> None:
    installation.add_task("shop", "Ticked")
    board.get_by_label("Tick Ticked").check()
    installation.add_task("shop", "Unticked")
    expect(column(board, "Ready", "Unticked")).to_be_visible()
    expect(board.get_by_label("Tick Ticked")).to_be_checked()
    expect(board.locator("#bulk-count")).to_have_text("1 ticked:")


def test_a_burst_costs_two_requests_a_second(
    board: Page, installation: Installation, shop: str
) -> None:
    installation.many_events(shop, 500)
    installation.add_task("shop", "After the burst")
    expect(column(board, "Ready", "After the burst")).to_be_visible()
    starts = board.evaluate(
        "performance.getEntriesByType('resource')"
        ".filter(one => one.name.includes('/parts/tasks/?')).map(one => one.startTime)"
    )
    assert len(starts) > 2
    assert min(after - before for before, after in pairwise(starts)) > 450


def test_a_hidden_tab_waits_and_catches_up(
    board: Page, installation: Installation, frames: list[str]
) -> None:
    board.evaluate(
        "Object.defineProperty(document, 'hidden', {configurable: true, get: () => window.away})"
    )
    board.evaluate("window.away = true; document.dispatchEvent(new Event('visibilitychange'))")
    board.evaluate("document.addEventListener('codeframe:events', () => { window.told = true; })")
    installation.add_task("shop", "Unseen")
    until(board, lambda: any("Unseen" in frame for frame in frames))
    assert not board.evaluate("window.told")
    expect(column(board, "Ready", "Unseen")).to_have_count(0)
    board.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    expect(column(board, "Ready", "Unseen")).to_be_visible()


def test_a_lost_server_is_told_and_what_was_missed_is_shown(
    board: Page, installation: Installation
) -> None:
    installation.shut()
    expect(board.locator("#live")).to_have_text("Reconnecting…")
    installation.add_task("shop", "Missed")
    installation.open()
    expect(board.locator("#live")).to_have_text("Live", timeout=30_000)
    expect(column(board, "Ready", "Missed")).to_be_visible()


def test_the_graph_takes_its_colours_as_it_happens(
    page: Page, installation: Installation, tmp_path: Path
) -> None:
    workspace = installation.shop("graph")
    go = tmp_path / "go"
    installation.add_task("graph", "First", f"wait-file {go}", "write a b")
    page.goto(f"/workspaces/{workspace}/graph/")
    expect(page.locator("#live")).to_have_text("Live")
    node = page.locator(".node", has_text="First")
    installation.good("runbatch", "-w", "graph", "--all-ready", "--engine", "fixer", "--detach")
    expect(node).to_have_class(re.compile(r"\bbusy\b"))
    go.touch()
    expect(node).to_have_class(re.compile(r"\bgood\b"))
    expect(node).to_have_attribute("aria-label", "First, merged")
    expect(page.locator("#graph-stale")).to_be_hidden()
    installation.add_task("graph", "Second")
    expect(page.locator("#graph-stale")).to_be_visible()


# -- what a server says seldom --------------------------------------------------------------------


def script(page: Page, shop: str) -> list[WebSocketRoute]:
    """Sockets that the test answers itself, as docs/streams.md has it."""
    opened: list[WebSocketRoute] = []
    page.route_web_socket("**/ws/**", lambda socket: opened.append(socket))
    page.goto(f"/workspaces/{shop}/")
    until(page, lambda: bool(opened))
    _say(opened[0], type="hello", v=1, cursor=5, replaying=False)
    expect(page.locator("#live")).to_have_text("Live")
    return opened


def _say(socket: WebSocketRoute, **frame: object) -> None:
    socket.send(json.dumps(frame))


def test_a_resync_has_every_part_fetched_again(page: Page, shop: str) -> None:
    socket = script(page, shop)[0]
    with page.expect_request("**/parts/tasks/**"), page.expect_request("**/questions/badge/"):
        _say(socket, type="resync", cursor=900)


def test_each_event_is_acknowledged_and_told_once(page: Page, shop: str) -> None:
    socket = script(page, shop)[0]
    heard: list[str] = []
    socket.on_message(lambda text: heard.append(str(text)))
    page.evaluate(
        "window.told = []; document.addEventListener('codeframe:events',"
        " e => window.told.push(...e.detail.map(one => one.seq)))"
    )
    first = int(page.evaluate("Number(document.body.dataset.cursor)"))
    events = [{"seq": first + n, "type": "TASK_UPDATED", "payload": {}} for n in (1, 2, 3)]
    _say(socket, type="events", events=events[:2], cursor=first + 2)
    _say(socket, type="events", events=events, cursor=first + 3)
    until(page, lambda: page.evaluate("window.told.length") >= 3)
    assert page.evaluate("window.told") == [first + 1, first + 2, first + 3]
    assert json.loads(heard[-1]) == {"type": "ack", "seq": first + 3}


@pytest.mark.parametrize(
    ("code", "told"), [(4401, "signed out"), (4404, "no longer there"), (4403, "may not follow")]
)
def test_a_refusal_is_told_in_words_and_is_final(
    page: Page, shop: str, code: int, told: str
) -> None:
    opened = script(page, shop)
    opened[0].close(code=code)
    expect(page.locator("#live")).to_contain_text(told)
    assert len(opened) == 1


def test_a_restart_is_followed_by_a_new_socket_from_the_cursor(page: Page, shop: str) -> None:
    opened = script(page, shop)
    _say(opened[0], type="heartbeat", cursor=10_000)
    opened[0].close(code=1012)
    until(page, lambda: len(opened) == 2)
    assert opened[1].url.endswith("?after=10000")


def test_the_end_is_told_and_nothing_is_opened_again(page: Page, shop: str) -> None:
    opened = script(page, shop)
    _say(opened[0], type="end", cursor=10_001, status="COMPLETED")
    expect(page.locator("#live")).to_have_text("Ended")
    opened[0].close(code=1000)
    assert len(opened) == 1
