"""From the start of a batch to its end in a real browser, with scripted agents."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Look
from tests.browser.installation import Installation

PATIENCE_S = 30
expect.set_options(timeout=PATIENCE_S * 1000)

pytestmark = pytest.mark.usefixtures("worker")


@pytest.fixture(scope="module")
def go(installation: Installation) -> Callable[[str], Path]:
    """A file that agents wait for, by name."""
    installation.add_agent()
    return lambda name: installation.folder / f"go-{name}"


def start_all(page: Page, workspace: str) -> None:
    page.goto(f"/workspaces/{workspace}/run/")
    page.get_by_role("button", name=re.compile(r"Start \d+ task")).click()
    page.wait_for_url(re.compile(r"/batches/[-0-9a-f]{36}/$"))


def settled(page: Page, state: str) -> None:
    heading = page.get_by_role("heading", level=1)
    reached(page, lambda: state in heading.inner_text())


def reached(page: Page, condition: Callable[[], bool]) -> None:
    """Without a reload: what is shown is what the stream brought."""
    for _ in range(PATIENCE_S * 10):
        if condition():
            return
        page.wait_for_timeout(100)
    state = page.locator("#live").get_attribute("data-state")
    raise AssertionError(f"{state}: {page.locator('main').inner_text()[-3000:]}")


def test_the_plan_says_what_is_missing_and_takes_it_in(
    page: Page, installation: Installation, go: Callable[[str], Path], look: Look
) -> None:
    shop = installation.shop("plan")
    schema = installation.add_task("plan", "Schema v2", ready=False)
    words = ["task", "add", "Export CSV", "-w", "plan", "--ready", "--depends-on", schema]
    installation.good(*words)
    installation.add_task("plan", "Prices")
    page.goto(f"/workspaces/{shop}/run/")
    plan = page.locator("#plan")
    expect(plan).to_contain_text("Export CSV needs Schema v2, which is backlog")
    expect(page.get_by_role("button", name="Start 2 tasks")).to_be_disabled()
    look(page, "start-missing")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("button", name="Start 3 tasks")).to_be_enabled()
    expect(plan).to_contain_text("longest chain 2")
    expect(plan).to_contain_text("unknown: no run has completed here yet")
    page.get_by_label("At once").fill("900")
    page.get_by_role("button", name="Start 3 tasks").evaluate(
        "button => button.form.noValidate = true"
    )
    page.get_by_role("button", name="Start 3 tasks").click()
    expect(page.locator(".field.bad")).to_contain_text("must be a whole number from 1 to 64")


def test_a_batch_is_watched_stopped_and_resumed(
    page: Page, installation: Installation, go: Callable[[str], Path], look: Look
) -> None:
    shop = installation.shop("watch", **{"app.py": "def price():\n    return 1\n"})
    first = installation.add_task(
        "watch",
        "Add prices",
        r"raw 1b5b33326d6f6b1b5b306d203c7363726970743e616c6572742831293c2f7363726970743e0a",
        "tick 5 0.05",
        r'write app.py "def price():\n    return 2  # <script>alert(1)</script> twice"',
        "write docs/notes.md new",
    )
    assert first
    installation.add_task("watch", "Wait for word", "print started", f"wait-file {go('watch')}")
    start_all(page, shop)
    batch = page.url
    settled(page, "running")
    row = page.locator("tr", has_text="Wait for word").first
    table = page.locator("table.runs")
    reached(page, lambda: "started" in row.inner_text() and "completed" in table.inner_text())
    look(page, "batch-running")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".notice")).to_contain_text("work done so far is kept")
    settled(page, "cancelled")
    go("watch").touch()
    page.get_by_role("button", name="Resume").click()
    settled(page, "partial")  # the second agent changes nothing
    look(page, "batch-ended")
    page.locator("summary", has_text="As a table").click()
    expect(page.locator("#timeline-table")).to_contain_text("Add prices")

    page.goto(batch)
    page.get_by_role("link", name="Add prices").first.click()
    expect(page.locator("#log")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator("#log .fg2")).to_have_text("ok")
    look(page, "run-output")
    page.get_by_label("Find in the output").fill("TICK 3")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".hits li")).to_have_count(1)
    page.get_by_role("link", name=re.compile("Changes")).click()
    expect(page.locator("#file-1")).to_contain_text("# <script>alert(1)</script>")
    expect(page.locator("#file-1 .t-keyword").first).to_be_visible()
    look(page, "run-changes")
    page.get_by_role("link", name="split").click()
    expect(page.locator("table.split").first).to_be_visible()
    look(page, "run-changes-split")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("download patch")).click()
    assert b"+    return 2" in Path(download.value.path()).read_bytes()
    page.get_by_role("link", name="Cost and details").click()
    expect(page.locator("main")).to_contain_text("CODEFRAME_RUN_ID")
    look(page, "run-details")
    page.get_by_role("link", name=re.compile("Gates and findings")).click()
    look(page, "run-checks")
    page.goto(batch)
    page.get_by_role("link", name="Wait for word").first.click()
    expect(page.locator("#run-head")).to_contain_text("no changes")
    look(page, "run-failed")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".notice")).to_contain_text("it does this task again")
    settled(page, "partial")


def test_the_head_of_a_batch_outlives_its_last_event(
    page: Page, installation: Installation, go: Callable[[str], Path]
) -> None:
    """It was asked for once more after it had said that it has ended, at no address."""
    shop = installation.shop("head")
    installation.add_task("head", "End late", "trap-term", f"wait-file {go('never')}")
    installation.add_task("head", "End at once", f"wait-file {go('never')}")
    start_all(page, shop)
    table = page.locator("table.runs")
    reached(page, lambda: table.inner_text().count("no output yet") == 2)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    waiting: list[Route] = []
    page.route(re.compile("/parts/head/$"), lambda route: waiting.append(route))
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#live")).to_have_text("Ended")
    reached(page, lambda: bool(waiting))
    page.unroute(re.compile("/parts/head/$"))  # lets those go on that wait
    settled(page, "cancelled")
    page.evaluate("new Promise(done => setTimeout(() => setTimeout(done)))")  # what was wanted
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    assert [url for url in asked if "undefined" in url] == []


def test_an_answer_on_the_page_sends_the_task_on(
    page: Page, installation: Installation, go: Callable[[str], Path], look: Look
) -> None:
    shop = installation.shop("asks")
    begun = go("begun")
    installation.add_task("asks", "One", f"wait-file {begun}", "write same.txt one")
    slow = f"wait-file {go('answer')}"
    installation.add_task("asks", "Two", f"touch {begun}", slow, "write same.txt two")
    start_all(page, shop)
    row = page.locator("tr", has_text="One").first
    reached(page, lambda: "completed" in row.inner_text())
    go("answer").touch()
    settled(page, "partial")
    needs = page.locator("section.needs")
    expect(needs).to_contain_text("same.txt")
    look(page, "batch-asks")
    needs.get_by_label("Answer").fill("keep both")
    needs.get_by_role("button", name="Answer").click()
    expect(page.locator(".notice")).to_contain_text("goes on with it")
    settled(page, "completed")


def test_a_hundred_thousand_lines_are_followed_windowed_and_found(
    page: Page, installation: Installation, go: Callable[[str], Path], look: Look
) -> None:
    shop = installation.shop("long")
    installation.add_task(
        "long",
        "Talk much <b>bold</b>",
        "spam 100000 60",
        f"wait-file {go('more')}",
        "print after all \x1b]8;;http://evil\x07link",
        f"wait-file {go('end')}",
        'write "<img src=x onerror=alert(1)>.txt" x',
    )
    start_all(page, shop)
    row = page.locator("table.runs tbody tr").first
    expect(row).to_contain_text("Talk much <b>bold</b>")
    reached(page, lambda: "100000" in row.inner_text() or "99999" in row.inner_text())
    began = time.monotonic()
    row.get_by_role("link").first.click()
    log = page.locator("#log")
    expect(log.locator(".l").last).to_have_attribute("id", re.compile("L(100000|99999)$"))
    assert time.monotonic() - began < 5
    assert log.locator(".l").count() <= 1000
    go("more").touch()
    reached(page, lambda: "after all link" in log.locator(".l").last.inner_text())
    at_end = "log => log.scrollHeight - log.scrollTop - log.clientHeight < 60"
    reached(page, lambda: bool(log.evaluate(at_end)))
    page.get_by_text(re.compile("lines above, load")).click()
    expect(log.locator(".l").first).to_have_attribute("id", re.compile(r"L98\d{3}$"))
    page.get_by_label("Line number").fill("54321")
    page.get_by_role("button", name="Go").click()
    expect(page.locator("#L54321.linked")).to_be_visible()
    go("end").touch()
    settled(page, "completed")
    page.get_by_role("link", name=re.compile("Changes")).click()
    expect(page.locator("#file-1 summary")).to_contain_text("<img src=x onerror=alert(1)>.txt")
    look(page, "run-odd-name")


def test_two_clicks_start_one_batch(
    page: Page, installation: Installation, go: Callable[[str], Path]
) -> None:
    shop = installation.shop("twice")
    installation.add_task("twice", "Slow", f"wait-file {go('twice')}")
    page.goto(f"/workspaces/{shop}/run/")
    page.get_by_role("button", name="Start 1 task").evaluate(
        """button => {
          const data = new FormData(button.form); data.set("action", "start");
          const body = new URLSearchParams(data);
          const send = () => fetch(button.form.getAttribute("action"), {method: "POST", body});
          return Promise.all([send(), send()]).then(() => send());
        }"""
    )
    count = installation.rows(
        "SELECT count(*) FROM batches_batch b JOIN tasks_workspace w ON w.id = b.workspace_id"
        " WHERE w.name = 'twice'"
    )
    assert count == [(1,)]
    page.goto(f"/workspaces/{shop}/run/")
    expect(page.locator(".notice")).to_contain_text("one runs at a time")
    go("twice").touch()


def test_history_events_and_operators(page: Page, installation: Installation, look: Look) -> None:
    page.goto("/batches/")
    expect(page.locator("table.batches tbody tr").first).to_be_visible()
    look(page, "batches")
    page.get_by_label("State").select_option("PARTIAL")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("table.batches tbody tr").first).to_contain_text("partial")
    shop = installation.id_of("tasks_workspace", "name", "watch")
    page.goto(f"/workspaces/{shop}/events/")
    expect(page.locator("table.events")).to_contain_text("BATCH_RESUMED")
    look(page, "events")
    for width in (360, 650, 750):
        page.set_viewport_size({"width": width, "height": 740})
        for cell in page.locator("table.events tbody tr").first.locator("td").all()[2:]:
            box = cell.bounding_box()
            assert box
            assert box["width"] > 150, width
    page.goto("/operators/")
    expect(page.locator("main")).to_contain_text("loop lag")
    look(page, "operators")
