"""The state folder as settings need it: there, ours to write, and with a secret in it."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def make_folder(folder: Path) -> None:
    """Private to its owner when new. Raises ImproperlyConfigured."""
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(0, "it cannot be written to", str(folder))


def kept_secret(folder: Path) -> str:
    """Made by the first who asks. Raises ImproperlyConfigured."""
    path = folder / "secret_key"
    with _told(path):
        if path.is_file() and (key := path.read_text().strip()):
            return key
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            # The race: of two first starts at once, the second reads what the first wrote.
            fcntl.flock(file, fcntl.LOCK_EX)
            key = file.read().strip() or secrets.token_urlsafe(48)
            file.seek(0)
            file.write(key)
        return key


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where, why = error.filename or path, error.strerror or error
        raise ImproperlyConfigured(f"CODEFRAME_STATE_DIR: {where}: {why}") from error
