import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pytest_django import DjangoAssertNumQueries, Settings

from costs import secrets
from costs.keyring import KeyringError
from costs.models import Secret
from costs.secrets import SecretError

pytestmark = pytest.mark.django_db

VALUE = "sk-ant-0123456789abcdef"


@pytest.fixture(autouse=True)
def state(settings: Settings, tmp_path: Path) -> Path:
    settings.STATE_DIR, settings.SECRETS_KEYS = tmp_path, []
    return tmp_path


def test_a_secret_is_encrypted_with_a_key_that_is_not_in_the_database(state: Path) -> None:
    assert secrets.set_secret("ANTHROPIC_API_KEY", VALUE)
    assert not secrets.set_secret("ANTHROPIC_API_KEY", VALUE + "2")
    row = Secret.objects.get()
    assert VALUE.encode() not in bytes(row.ciphertext)
    assert secrets.all_secrets() == {"ANTHROPIC_API_KEY": VALUE + "2"}
    file = state / "secrets_keys"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.unlink()
    with pytest.raises(SecretError, match="ANTHROPIC_API_KEY was encrypted with a key"):
        secrets.all_secrets()


def test_rotation_makes_the_old_key_useless(state: Path) -> None:
    secrets.set_secret("A_TOKEN", VALUE)
    old = (state / "secrets_keys").read_text()
    assert secrets.rotate() == 1
    new = (state / "secrets_keys").read_text()
    assert old.strip() not in new
    assert len(new.split()) == 1
    assert secrets.all_secrets() == {"A_TOKEN": VALUE}
    (state / "secrets_keys").write_text(old)
    with pytest.raises(SecretError):
        secrets.all_secrets()


def test_a_rotation_that_breaks_off_loses_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from costs import keyring

    secrets.set_secret("A_TOKEN", VALUE)
    monkeypatch.setattr(keyring, "keep_first", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        secrets.rotate()
    assert len((state / "secrets_keys").read_text().split()) == 2
    assert secrets.all_secrets() == {"A_TOKEN": VALUE}


def test_keys_from_the_environment_are_used_and_rotated_by_whoever_sets_them(
    settings: Settings, state: Path
) -> None:
    first, second = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.SECRETS_KEYS = [first]
    secrets.set_secret("A_TOKEN", VALUE)
    settings.SECRETS_KEYS = [second, first]
    assert secrets.rotate() == 1
    settings.SECRETS_KEYS = [second]
    assert secrets.all_secrets() == {"A_TOKEN": VALUE}
    assert not (state / "secrets_keys").exists()
    settings.SECRETS_KEYS = ["nonsense"]
    with pytest.raises(KeyringError, match="CODEFRAME_SECRETS_KEYS"):
        secrets.all_secrets()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("A-B", VALUE),
        ("", VALUE),
        ("1A", VALUE),
        ("A" * 101, VALUE),
        ("A\n", VALUE),
        ("CODEFRAME_SECRETS_KEYS", VALUE),
        ("A_TOKEN", "short"),
        ("A_TOKEN", ""),
        ("A_TOKEN", "with\nline feed"),
        ("A_TOKEN", "nul\0nulnul"),
        ("A_TOKEN", "\ud800\ud800\ud800\ud800\ud800\ud800\ud800\ud800"),
        ("A_TOKEN", "x" * 8193),
        ("A_TOKEN", f" {VALUE}"),
    ],
)
def test_what_cannot_be_a_secret_is_refused_without_naming_the_value(name: str, value: str) -> None:
    with pytest.raises(SecretError) as refused:
        secrets.set_secret(name, value)
    assert not value or value not in str(refused.value)
    assert not Secret.objects.exists()


def test_all_are_read_in_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(20):
        secrets.set_secret(f"T{number}_TOKEN", VALUE)
    with django_assert_num_queries(1):
        assert len(secrets.all_secrets()) == 20
