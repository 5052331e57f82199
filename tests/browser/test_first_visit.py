"""From a fresh state to a first workspace."""

from playwright.sync_api import Page

from tests.browser.conftest import Look
from tests.browser.installation import Installation


def test_an_empty_installation_says_what_it_is(page: Page, look: Look) -> None:
    page.goto("/")
    assert page.get_by_role("heading", level=1).inner_text() == "Workspaces"
    look(page, "home-empty")


def test_a_link_that_was_used_signs_nobody_in(
    page: Page, installation: Installation, look: Look
) -> None:
    page.goto(installation.link())
    look(page, "sign-in-link")
    address = page.url
    page.get_by_role("button", name="Sign in as").click()
    page.goto(address)
    assert page.get_by_role("heading", level=1).inner_text() == "This link signs nobody in"
