"""Real Chromium on a real installation. Pictures go to CODEFRAME_ARTEFACTS, else to artifacts/."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.installation import Installation
from tests.commands.conftest import empty as empty  # a migrated database, for every installation

CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
ARTEFACTS = Path(os.environ.get("CODEFRAME_ARTEFACTS") or "artifacts")
PATIENCE_MS = 15_000
WIDTHS = (1280, 360)
THEMES = ("light", "dark")

Look = Callable[[Page, str], None]
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if not Path(CHROMIUM).exists():
                item.add_marker(pytest.mark.skip(f"no Chromium at {CHROMIUM}: set CHROMIUM"))


# Playwright's loop would make Django refuse its database in other tests: so it ends with its file.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, empty: bytes) -> Iterator[Installation]:
    """Shared by a file's tests; each makes a workspace of its own."""
    made = Installation(tmp_path_factory.mktemp("installation"), empty)
    made.open()
    yield made
    made.destroy()


@pytest.fixture(scope="module")
def worker(installation: Installation) -> None:
    installation.work()


@pytest.fixture(scope="module")
def context(browser: Browser, installation: Installation) -> Iterator[BrowserContext]:
    """Signed in by a one-time link, as at a first visit."""
    context = browser.new_context(base_url=installation.address, viewport=_view(WIDTHS[0]))
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(installation.link())
    page.get_by_role("button", name="Sign in as").click()
    page.wait_for_url(installation.address)
    page.close()
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """What goes wrong in it fails the test: scripts' errors, and what the policy refuses."""
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: _note(said, wrong))
    yield page
    page.close()
    assert wrong == []


def _note(said: Any, wrong: list[str]) -> None:
    # A browser tells of every refused request; our pages say such things in words.
    expected = ("WebSocket", "status of 4")
    if said.type == "error" and not any(text in said.text for text in expected):
        wrong.append(f"{said.text} {said.location}")


@pytest.fixture
def look() -> Look:
    """Pictures of a page at both widths in both themes; nothing may be wider than the screen."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        for theme in THEMES:
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            for width in WIDTHS:
                page.set_viewport_size(_view(width))
                assert _overflow(page) <= 0, f"{name} is wider than {width} px"
                page.screenshot(path=ARTEFACTS / f"{name}-{width}-{theme}.png", full_page=True)
            accessible(page)
        page.set_viewport_size(_view(WIDTHS[0]))

    return take


def accessible(page: Page) -> None:
    """No serious fault that axe knows of."""
    found = Axe().run(page).response["violations"]
    serious = {
        fault["id"]: [node["html"][:200] for node in fault["nodes"][:3]]
        for fault in found
        if fault["impact"] in ("serious", "critical")
    }
    assert serious == {}


def _overflow(page: Page) -> int:
    script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(page.evaluate(script))


def _view(width: int) -> Any:
    return {"width": width, "height": 900 if width > 600 else 740}
