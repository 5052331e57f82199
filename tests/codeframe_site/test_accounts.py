"""Signing in and changing one's password, for everybody who has an account."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from codeframe_site import rates
from tasks.models import AuditEntry

pytestmark = pytest.mark.django_db
OLD, NEW = "an old pass phrase", "another pass phrase"


@pytest.fixture(autouse=True)
def bob(settings: Settings) -> User:
    """A member, not of the staff."""
    rates.forget()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("bob", password=OLD)


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


def fill(browser: Client, path: str, **fields: str) -> Any:
    """The form of that page, with the token it carries."""
    page = browser.get(path).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token, page
    return browser.post(path, {"csrfmiddlewaretoken": token[1], **fields})


def sign_in(browser: Client, password: str = OLD, **fields: str) -> Any:
    return fill(browser, "/login/", username="bob", password=password, **fields)


def test_a_page_leads_to_the_form_and_the_form_back_to_the_page(browser: Client) -> None:
    asked = browser.get("/batches/")
    assert (asked.status_code, asked.headers["Location"]) == (302, "/login/?next=/batches/")
    page = browser.get(asked.headers["Location"]).content.decode()
    assert 'name="next" value="/batches/"' in page
    answer = sign_in(browser, next="/batches/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/batches/")
    assert browser.get("/batches/").status_code == 200


@pytest.mark.parametrize(
    "where", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_it_leads_to_no_other_site(browser: Client, where: str) -> None:
    assert sign_in(browser, next=where).headers["Location"] == "/"


@pytest.mark.parametrize("where", ["/login/", "/login/?next=/login/"])
def test_who_is_signed_in_is_not_sent_round_and_round(browser: Client, where: str) -> None:
    assert sign_in(browser, next=where).headers["Location"] == "/"
    answer = browser.get("/login/", {"next": where})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert browser.get("/login/", {"next": "/batches/"}).headers["Location"] == "/batches/"


def test_a_wrong_password_says_so_and_not_which_half_is_wrong(browser: Client) -> None:
    wrong = sign_in(browser, "x").content.decode()
    nobody = fill(browser, "/login/", username="nobody", password="x").content.decode()
    said = [re.findall(r'role="alert">([^<]+)<', page) for page in (wrong, nobody)]
    assert said[0] == said[1]
    assert said[0]


def test_an_account_that_is_off_does_not_get_in(browser: Client, bob: User) -> None:
    User.objects.update(is_active=False)
    assert sign_in(browser).status_code == 200


@pytest.mark.parametrize("name", ["\x00", "a" * 10_000, "<script>"])
def test_odd_names_are_an_error_on_the_page(browser: Client, name: str) -> None:
    answer = fill(browser, "/login/", username=name, password="x")
    assert answer.status_code == 200
    assert b"<script>" not in answer.content


def test_it_is_throttled_together_with_the_form_of_the_admin(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from codeframe_site.throttles import CallThrottle

    monkeypatch.setitem(CallThrottle.THROTTLE_RATES, "login", "3/min")
    codes = [
        browser.post(path, {"username": "bob"}).status_code
        for path in ("/login/", "/admin/login/", "/login/", "/login/", "/admin/login/")
    ]
    assert codes == [403, 403, 403, 429, 429], "403: without the form's token"


def test_signing_out_needs_the_button(browser: Client) -> None:
    sign_in(browser)
    assert browser.get("/logout/").status_code == 405
    assert browser.post("/logout/").status_code == 403
    page = browser.get("/").content.decode()
    token = re.search(r'action="/logout/"><input type="hidden" name="\w+" value="(\w+)"', page)
    assert token
    answer = browser.post("/logout/", {"csrfmiddlewaretoken": token[1]})
    assert answer.headers["Location"] == "/login/"
    assert browser.get("/").status_code == 302


def test_a_new_password_ends_other_sessions_and_is_audited(browser: Client) -> None:
    sign_in(browser)
    other = Client(enforce_csrf_checks=True)
    sign_in(other)
    fields = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    assert fill(browser, "/password/", **fields).headers["Location"] == "/"
    assert browser.get("/").status_code == 200
    assert other.get("/").status_code == 302
    assert sign_in(Client(), OLD).status_code == 200
    entry = AuditEntry.objects.get(action="password.change")
    assert (entry.user, NEW in str(entry.detail)) == ("bob", False)


@pytest.mark.parametrize(
    "wrong", [{"old_password": "x"}, {"new_password2": "x"}, {"new_password1": "123"}]
)
def test_a_password_that_will_not_do_stays_the_old_one(
    browser: Client, wrong: dict[str, str]
) -> None:
    sign_in(browser)
    fields = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW} | wrong
    assert fill(browser, "/password/", **fields).status_code == 200
    assert User.objects.get().check_password(OLD)
    assert AuditEntry.objects.count() == 0


def test_who_is_in_already_is_sent_on(browser: Client) -> None:
    sign_in(browser)
    assert browser.get("/login/").headers["Location"] == "/"


def test_who_has_no_password_yet_is_told_how_to_come_in(browser: Client, bob: User) -> None:
    hint = ".venv/bin/python manage.py signinlink"
    assert hint not in browser.get("/login/").content.decode()
    bob.set_unusable_password()
    bob.save()
    assert hint in browser.get("/login/").content.decode()
