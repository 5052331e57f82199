"""Board, list, task, import, graph and questions, as they look and answer to hands and keys."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Look
from tests.browser.installation import Installation

FILE = """\
tasks:
  - title: Schema v2
    key: schema
    priority: 1
    estimated_hours: 2
    description: |
      New tables for orders.

      Done when the tests of the old ones still pass.
  - title: Rate limits
    depends_on: [schema]
    priority: 2
  - title: Export as CSV, with a name that is rather long so that it has to be cut somewhere
    depends_on: [schema, Rate limits]
  - title: Write the manual
"""


@pytest.fixture(scope="module")
def shop(installation: Installation) -> str:
    workspace = installation.shop()
    file = installation.folder / "tasks.yaml"
    file.write_text(FILE)
    installation.good("task", "import", "-w", "shop", str(file), "--ready")
    return workspace


def test_the_board_and_the_list_look_right(page: Page, shop: str, look: Look) -> None:
    page.goto(f"/workspaces/{shop}/")
    expect(page.locator(".card")).to_have_count(4)
    look(page, "board")
    page.goto(f"/workspaces/{shop}/?view=list")
    look(page, "list")
    page.goto(f"/workspaces/{shop}/settings/")
    look(page, "settings")


def test_keys_search_move_and_open(page: Page, shop: str) -> None:
    page.goto(f"/workspaces/{shop}/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".card").first.get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/*/")
    page.go_back()
    page.keyboard.press("/")
    page.keyboard.type("rate")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=rate**")
    expect(page.locator(".card")).to_have_count(1)


def test_ticked_tasks_are_moved_together(page: Page, shop: str) -> None:
    page.goto(f"/workspaces/{shop}/?view=list")
    expect(page.get_by_role("button", name="To backlog")).to_be_disabled()
    page.get_by_label("Tick Write the manual").check()
    page.get_by_role("button", name="To backlog").click()
    expect(page.get_by_text("1 task made backlog")).to_be_visible()
    row = page.locator("tr", has_text="Write the manual")
    expect(row).to_contain_text("backlog")


def test_a_dependency_is_added_and_a_cycle_refused_with_its_path(
    page: Page, shop: str, look: Look
) -> None:
    page.goto(f"/workspaces/{shop}/")
    page.get_by_role("link", name="Schema v2").click()
    page.get_by_label("Task that must be done first").fill("Rate limits")
    page.get_by_role("button", name="Wait for it").click()
    notice = page.locator(".notice.error")
    expect(notice).to_contain_text("would form a cycle: ")
    expect(notice).to_contain_text("Schema v2 -> Rate limits")
    page.get_by_label("Task that must be done first").fill("Write the manual")
    page.get_by_role("button", name="Wait for it").click()
    expect(page.get_by_text("It starts after")).to_be_visible()
    look(page, "task")
    page.get_by_role("button", name="Do not wait for Write the manual").click()
    expect(page.get_by_text("It waits for no other task.")).to_be_visible()


def test_a_file_is_shown_before_it_is_imported(
    page: Page, shop: str, tmp_path: Path, look: Look
) -> None:
    page.goto(f"/workspaces/{shop}/tasks/import/")
    page.get_by_label("Or its text").fill("tasks:\n  - title: A\n    depends_on: [Nobody]\n")
    page.get_by_role("button", name="See what would happen").click()
    expect(page.locator("#problems")).to_contain_text("1 problem")
    look(page, "import-problems")
    file = tmp_path / "more.json"
    file.write_text(json.dumps({"tasks": [{"title": "Fresh"}, {"title": "Rate limits"}]}))
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="See what would happen").click()
    expect(page.get_by_text("in the way").first).to_be_visible()
    page.get_by_label("Update tasks that are there").check()
    page.get_by_role("button", name="See what would happen").click()
    look(page, "import-preview")
    page.get_by_role("button", name="Import 2 tasks").click()
    expect(page.locator(".card", has_text="Fresh")).to_have_count(1)


def test_a_question_is_answered_in_place(
    page: Page, installation: Installation, shop: str, look: Look
) -> None:
    task = installation.id_of("tasks_task", "title", "Rate limits")
    installation.ask(task, "Per user or per address?")
    page.goto("/questions/")
    look(page, "questions")
    expect(page.locator("#questions-badge")).to_contain_text("1")
    page.goto(f"/workspaces/{shop}/")
    look(page, "board-asks")
    page.get_by_label("Answer").fill("Per user.")
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("Answered;")).to_be_visible()
    expect(page.get_by_text("Needs you")).to_have_count(0)


def test_a_graph_of_200_tasks_can_be_read_searched_and_zoomed(
    page: Page, installation: Installation, look: Look
) -> None:
    workspace = installation.shop("large")
    file = installation.folder / "large.json"
    file.write_text(json.dumps({"tasks": _many(200)}))
    installation.good("task", "import", "-w", "large", str(file), "--ready")
    page.goto(f"/workspaces/{workspace}/graph/")
    expect(page.locator(".node")).to_have_count(200)
    look(page, "graph-200")
    page.get_by_role("button", name="Whole").click()
    page.get_by_label("Find a task").fill("Task 150")
    expect(page.locator(".node.match")).to_have_count(1)
    expect(page.locator(".node.match")).to_be_in_viewport()


def test_a_graph_of_2000_tasks_can_be_searched_and_moved_in(
    page: Page, installation: Installation
) -> None:
    workspace = installation.shop("huge")
    file = installation.folder / "huge.json"
    file.write_text(json.dumps({"tasks": _many(2000)}))
    installation.good("task", "import", "-w", "huge", str(file), "--ready")
    page.goto(f"/workspaces/{workspace}/graph/")
    expect(page.locator(".node")).to_have_count(2000)
    page.get_by_label("Find a task").fill("Task 1999")
    expect(page.locator("#graph-found")).to_have_text("1 task")
    expect(page.locator(".node.match")).to_be_in_viewport()
    page.get_by_role("button", name="Whole").click()
    width = "document.querySelector('#graph svg').getBoundingClientRect().width"
    assert page.evaluate(width) <= page.evaluate("document.getElementById('graph').clientWidth")


def _many(count: int) -> list[dict[str, object]]:
    return [
        {"title": f"Task {n}", "key": f"t{n}", "depends_on": [f"t{n // 3}"] if n > 2 else []}
        for n in range(count)
    ]
