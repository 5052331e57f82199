"""From a fresh state to a first task, as somebody does who has never seen the product."""

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Look
from tests.browser.installation import Installation
from tests.repos import make_repository


def test_a_link_that_was_used_signs_nobody_in(
    page: Page, installation: Installation, look: Look
) -> None:
    page.goto(installation.link())
    look(page, "sign-in-link")
    address = page.url
    page.get_by_role("button", name="Sign in as").click()
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("This link signs nobody in")


def test_from_nothing_to_a_first_task(page: Page, installation: Installation, look: Look) -> None:
    make_repository(installation.folder / "first", {"README.md": "hello\n"})
    page.goto("/")
    look(page, "home-empty")
    page.get_by_role("link", name="Register a workspace").click()
    page.get_by_label("Path of the repository").fill("/etc")
    page.get_by_role("button", name="Register it").click()
    expect(page.locator(".field.bad")).to_contain_text("outside of the folders")
    look(page, "register-refused")
    page.get_by_label("Path of the repository").fill(str(installation.folder / "first"))
    page.get_by_role("button", name="Register it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("first")
    look(page, "board-empty")
    page.get_by_role("link", name="Add a task").click()
    look(page, "task-new")
    page.get_by_label("Title").fill("Say hello")
    page.get_by_role("button", name="Add it", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Say hello")
    look(page, "task-first")
    page.goto("/")
    look(page, "home")


def test_the_account_makes_a_key_shown_once(page: Page, look: Look) -> None:
    page.goto("/account/")
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("pre.key")).to_contain_text("cf_")
    look(page, "account")
    page.goto("/account/")
    expect(page.locator("pre.key")).to_have_count(0)
    page.get_by_role("button", name="Revoke nightly").click()
    expect(page.get_by_text("opens nothing any more")).to_be_visible()


def test_without_a_script_everything_still_works_by_forms(
    browser: Browser, context: BrowserContext, installation: Installation
) -> None:
    workspace = installation.shop("plain")
    state = context.storage_state()
    plain = browser.new_context(
        base_url=installation.address, storage_state=state, java_script_enabled=False
    )
    page = plain.new_page()
    page.goto(f"/workspaces/{workspace}/")
    expect(page.locator("#live")).to_have_text("Reload to update")
    page.get_by_role("link", name="Add a task").click()
    page.get_by_label("Title").fill("By hand")
    page.get_by_role("button", name="Add it", exact=True).click()
    page.get_by_role("button", name="To backlog").click()
    expect(page.get_by_text("It is backlog now.")).to_be_visible()
    page.goto(f"/workspaces/{workspace}/")
    page.get_by_label("Tick By hand").check()
    page.get_by_role("button", name="Make ready").click()
    expect(page.get_by_text("1 task made ready")).to_be_visible()
    page.goto(f"/workspaces/{workspace}/graph/")
    expect(page.locator(".node")).to_have_count(1)
    plain.close()
