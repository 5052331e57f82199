"""One-time links: who they let in, how often, and from where."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from codeframe_site.exposure import refusal
from codeframe_site.models import SignInLink
from codeframe_site.sign_in_links import local_operator, make_link, use_link
from tasks.models import AuditEntry
from tests.codeframe_site.browsing import html

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    """A browser on the server's own machine."""
    return Client(HTTP_HOST="127.0.0.1:8000")


def signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_it_lets_in_once_and_looking_does_not_spend_it(client: Client) -> None:
    link = make_link(local_operator())
    assert "Sign in as" in html(client.get(link))
    assert not signed_in(client)
    assert client.post(link)["Location"] == "/"
    assert signed_in(client)
    another = Client(HTTP_HOST="127.0.0.1:8000")
    assert another.post(link).status_code == 403
    assert not signed_in(another)
    assert list(AuditEntry.objects.values_list("action", flat=True))[:1] == ["sign_in_link.use"]


def test_only_its_hash_is_kept() -> None:
    secret = make_link(local_operator()).strip("/").split("/")[-1]
    assert secret not in str(list(SignInLink.objects.values()))


def test_it_ends(client: Client) -> None:
    link = make_link(local_operator())
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.post(link).status_code == 403
    assert not signed_in(client)


def test_who_may_not_sign_in_any_more_is_not_let_in(client: Client) -> None:
    link = make_link(local_operator())
    User.objects.update(is_active=False)
    assert client.post(link).status_code == 403


@pytest.mark.parametrize(
    "surroundings",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_X_FORWARDED_HOST": "localhost"},
        {"HTTP_X_FORWARDED_PROTO": "https"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_X_CLIENT_IP": "127.0.0.1"},
        {"HTTP_TRUE_CLIENT_IP": "127.0.0.1"},
        {"HTTP_CF_CONNECTING_IP": "127.0.0.1"},
        {"HTTP_HOST": "codeframe.example"},
    ],
)
def test_from_elsewhere_it_signs_nobody_in_and_is_not_spent(
    client: Client, surroundings: dict[str, str], settings: pytest.FixtureRequest
) -> None:
    settings.ALLOWED_HOSTS = ["*"]  # type: ignore[attr-defined]
    link = make_link(local_operator())
    assert client.post(link, **surroundings).status_code == 403  # type: ignore[arg-type]
    assert use_link(link.strip("/").split("/")[-1]) is not None


def test_another_site_cannot_press_its_button() -> None:
    strict = Client(enforce_csrf_checks=True, HTTP_HOST="127.0.0.1:8000")
    assert strict.post(make_link(local_operator())).status_code == 403
    assert not signed_in(strict)


@pytest.mark.parametrize("secret", ["x", "a" * 5000, "%00", "é"])
def test_a_guess_is_a_page_in_words(client: Client, secret: str) -> None:
    response = client.get(f"/sign-in/{secret}/")
    assert response.status_code == 403
    assert "signs nobody in" in html(response)


def test_an_operator_without_a_password_opens_no_address_to_others() -> None:
    local_operator()
    assert "create an account" in refusal("0.0.0.0")


def test_the_first_operator_is_made_once() -> None:
    assert local_operator() == local_operator()
    assert User.objects.count() == 1
    assert not User.objects.get().has_usable_password()


def test_the_one_who_came_by_a_link_can_set_a_password(client: Client) -> None:
    client.post(make_link(local_operator()))
    assert "Set one" in html(client.get("/account/"))
    word = "correct horse battery"
    client.post("/account/password/", {"new_password1": word, "new_password2": word})
    assert User.objects.get().check_password(word)
    assert signed_in(client)
    assert client.get("/account/password/")["Location"] == "/account/"
