"""The keys that secrets in the database are encrypted with; they are kept outside of it."""

import os
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


class KeyringError(Exception):
    """The keys cannot be used; says which and why in one sentence."""


def keyring() -> MultiFernet:
    """The first one encrypts, all decrypt. Raises KeyringError."""
    return _of(settings.SECRETS_KEYS or _stored() or [_make()])


def in_file() -> bool:
    """Whether the keys are ours to change."""
    return not settings.SECRETS_KEYS


def add_key() -> None:
    """A new first key; the old ones still decrypt. Raises KeyringError."""
    _write([Fernet.generate_key().decode(), *_stored()])


def keep_first() -> None:
    """After everything was encrypted anew."""
    _write(_stored()[:1])


def _of(keys: list[str]) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        where = _path() if in_file() else "CODEFRAME_SECRETS_KEYS"
        raise KeyringError(f"{where}: a key is 32 bytes in URL-safe base64") from None


def _path() -> Path:
    return Path(settings.STATE_DIR) / "secrets_keys"


def _stored() -> list[str]:
    try:
        return _path().read_text().split()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise KeyringError(f"{_path()}: {error.strerror}") from error


def _make() -> str:
    """By the first who asks: of two at once one file wins, and both read that."""
    try:
        with os.fdopen(os.open(_path(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(Fernet.generate_key().decode() + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise KeyringError(f"{_path()}: {error.strerror}") from error
    return _stored()[0]


def _write(keys: list[str]) -> None:
    """Whole or not at all: without the keys every secret would be lost."""
    folder = _path().parent
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".secrets_keys")  # 0600
        with os.fdopen(handle, "w") as file:
            file.write("".join(f"{key}\n" for key in keys))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(_path())
    except OSError as error:
        raise KeyringError(f"{_path()}: {error.strerror}") from error
