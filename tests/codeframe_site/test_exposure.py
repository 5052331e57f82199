import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from codeframe_site.exposure import is_loopback, refusal

READY = {"CODEFRAME_SECRET_KEY": "k" * 50, "CODEFRAME_ALLOWED_HOSTS": "codeframe.example"}


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_loopback_needs_nothing(bind: str) -> None:
    assert is_loopback(bind)
    assert refusal(bind) == ""


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.168.0.7", "localhost.example", ""])
def test_everything_else_is_the_network(bind: str) -> None:
    assert not is_loopback(bind)


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    for name, value in READY.items():
        monkeypatch.setenv(name, value)
    User.objects.create(username="ada")


@pytest.mark.usefixtures("ready")
def test_a_server_that_is_set_up_may_be_reached() -> None:
    assert refusal("0.0.0.0") == ""


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("name", READY)
def test_a_setting_that_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)
    assert name in refusal("0.0.0.0")


@pytest.mark.usefixtures("ready")
def test_debug_is_refused(settings: Settings) -> None:
    settings.DEBUG = True
    assert "CODEFRAME_DEBUG" in refusal("0.0.0.0")


@pytest.mark.usefixtures("ready")
def test_without_an_active_account_nobody_may_be_first() -> None:
    User.objects.update(is_active=False)
    assert "createsuperuser" in refusal("0.0.0.0")
