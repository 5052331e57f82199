"""Passwords cannot be guessed quickly."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from codeframe_site.throttles import CallThrottle

pytestmark = pytest.mark.django_db
PATH = "/admin/login/"


@pytest.fixture(autouse=True)
def _slow(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    monkeypatch.setitem(CallThrottle.THROTTLE_RATES, "login", "3/min")
    User.objects.create_superuser("ada", password="right")


def sign_in(name: str, password: str, address: str = "10.0.0.1", **headers: str) -> Any:
    data = {"username": name, "password": password, "next": "/admin/"}
    return Client().post(PATH, data, REMOTE_ADDR=address, headers=headers)


def test_after_some_attempts_even_the_right_password_waits() -> None:
    codes = [sign_in("ada", "wrong").status_code for _ in range(3)]
    assert codes == [200] * 3
    refused = sign_in("ada", "right")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 61
    assert sign_in("ADA", "right").status_code == 429


def test_others_are_not_kept_out() -> None:
    for _ in range(4):
        sign_in("ada", "wrong")
    assert sign_in("bob", "wrong").status_code == 200
    assert sign_in("ada", "right", address="10.0.0.2").status_code == 302


def test_a_forwarded_address_is_not_believed() -> None:
    for number in range(3):
        sign_in("ada", "wrong", **{"X-Forwarded-For": f"1.2.3.{number}"})
    assert sign_in("ada", "wrong", **{"X-Forwarded-For": "9.9.9.9"}).status_code == 429


def test_trying_many_names_from_one_address_is_slowed_down_too() -> None:
    codes = [sign_in(f"name{number}", "wrong").status_code for number in range(20)]
    assert codes[:18] == [200] * 18
    assert codes[18:] == [429, 429]


def test_looking_at_the_form_is_free() -> None:
    for _ in range(30):
        assert Client().get(PATH).status_code == 200
