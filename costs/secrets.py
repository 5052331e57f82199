"""Keys of providers, encrypted in the database; read by the server, shown by nobody."""

import re

from cryptography.fernet import InvalidToken, MultiFernet
from django.db import transaction

from costs import keyring
from costs.models import Secret
from costs.redaction import SHORTEST

MOST_BYTES = 8192
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class SecretError(Exception):
    """Says in one sentence what is wrong; never with the value."""


def set_secret(name: str, value: str) -> bool:
    """True when it is new, False when it replaced one. Raises SecretError and KeyringError."""
    problem = _problem(name, value)
    if problem:
        raise SecretError(problem)
    sealed = keyring.keyring().encrypt(value.encode())
    _, made = Secret.objects.update_or_create(name=name, defaults={"ciphertext": sealed})
    return made


def delete_secret(name: str) -> bool:
    return bool(Secret.objects.filter(name=name).delete()[0])


def all_secrets() -> dict[str, str]:
    """Every name with its value; one query. Raises SecretError and KeyringError."""
    rows = list(Secret.objects.all())
    if not rows:
        return {}
    keys = keyring.keyring()
    return {row.name: _opened(row, keys) for row in rows}


def rotate() -> int:
    """Encrypts everything anew with a new key; the number of secrets.

    A crash on the way leaves both keys, and loses nothing. Where the keys come from the
    environment, whoever sets them puts a new one first, and this encrypts with that.
    Raises SecretError and KeyringError.
    """
    keyring.keyring()
    if keyring.in_file():
        keyring.add_key()
    keys = keyring.keyring()
    with transaction.atomic():
        rows = list(Secret.objects.select_for_update(no_key=True))
        for row in rows:
            try:
                row.ciphertext = keys.rotate(bytes(row.ciphertext))
            except InvalidToken:
                raise SecretError(f"{row.name} was encrypted with a key that is gone") from None
        Secret.objects.bulk_update(rows, ["ciphertext"])
    if keyring.in_file():
        keyring.keep_first()
    return len(rows)


def _opened(row: Secret, keys: MultiFernet) -> str:
    try:
        return keys.decrypt(bytes(row.ciphertext)).decode()
    except InvalidToken:
        raise SecretError(f"{row.name} was encrypted with a key that is gone") from None


def _problem(name: str, value: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "a name is that of an environment variable, such as ANTHROPIC_API_KEY"
    if name.startswith("CODEFRAME_"):
        return f"{name} is a setting of the server, which no engine gets"
    if len(value) < SHORTEST:
        return f"a value has at least {SHORTEST} characters"
    if len(value.encode("utf-8", "replace")) > MOST_BYTES:
        return f"a value has at most {MOST_BYTES} bytes"
    if not value.isprintable() or value != value.strip():
        return "a value is one line of printable characters"
    return None
