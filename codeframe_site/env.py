"""Typed readers of environment variables; docs/settings.md lists each one read here."""

import json
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_SECRET = re.compile(r"(_|^)(API_?KEY|KEYS?|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.I)
READ: dict[str, tuple[str, str]] = {}
"""Name -> (default as text, one line of help), filled as settings are read."""


def text(name: str, default: str, help_text: str) -> str:
    READ[name] = (default, help_text)
    return os.environ.get(name, default)


def integer(name: str, default: int, help_text: str, *, minimum: int = 0) -> int:
    """Raises ImproperlyConfigured when the value is no whole number or under the minimum."""
    raw = text(name, str(default), help_text)
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}, not {value}")
    return value


def flag(name: str, help_text: str, *, default: bool = False) -> bool:
    raw = text(name, "1" if default else "0", help_text).strip().lower()
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {raw!r}")


def choice(name: str, default: str, allowed: Collection[str], help_text: str) -> str:
    """Upper and lower case do not matter; gives the name in capitals."""
    value = text(name, default, help_text).strip().upper()
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return value


def names(name: str, default: str, help_text: str) -> list[str]:
    """A comma-separated list; blanks are dropped."""
    return [part.strip() for part in text(name, default, help_text).split(",") if part.strip()]


def options(name: str, help_text: str) -> dict[str, Any]:
    """A JSON object; what is in it, its reader checks."""
    raw = text(name, "", help_text)
    try:
        value = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f"{name} must be a JSON object")
    return value


def address(name: str, schemes: Sequence[str], help_text: str) -> str:
    """A URL with one of these schemes, or empty."""
    value = text(name, "", help_text)
    try:
        parts = urlsplit(value)
        right = not value or (parts.scheme in schemes and parts.port != 0)
    except ValueError:
        right = False
    if not right:
        raise ImproperlyConfigured(f"{name} must be an address like {schemes[0]}://host:port/path")
    return value


def secrets() -> dict[str, str]:
    """Variables that are secrets by their name; whatever prints them, they are masked."""
    found = {name: value for name, value in os.environ.items() if _SECRET.search(name)}
    password = unquote(_password(os.environ.get("DATABASE_URL", "")))
    return found | ({"DATABASE_URL": password} if password else {})


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


def is_default(name: str) -> bool:
    """Whether a variable that was read is as if it had not been set."""
    default, _ = READ[name]
    return os.environ.get(name, default) == default


def folder(name: str, default: Path, shown_default: str, help_text: str) -> Path:
    READ[name] = (shown_default, help_text)
    raw = os.environ.get(name)
    return Path(raw).expanduser().absolute() if raw else default


def database(url: str, state_dir: Path) -> dict[str, Any]:
    """Django's DATABASES entry for a DATABASE_URL; empty means SQLite in the state directory.

    SQLite begins transactions IMMEDIATE and writes ahead: deferred ones fail with "database is
    locked" in two thirds of concurrent writes, whatever the time-out.
    """
    if not url:
        return _sqlite(state_dir / "codeframe.sqlite3")
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
    except ValueError:
        raise _not_a_database() from None  # its text may show the password
    name = unquote(parts.path)
    if name in {"", "/"} or "\0" in name:
        raise _not_a_database()
    if parts.scheme == "sqlite":
        return _sqlite(Path(name))
    if parts.scheme not in {"postgres", "postgresql"}:
        raise _not_a_database()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": port,
        "OPTIONS": dict(parse_qsl(parts.query)),
    }


def _not_a_database() -> ImproperlyConfigured:
    return ImproperlyConfigured(
        "DATABASE_URL must be postgres://user:password@host:port/name or sqlite:///path"
    )


def _sqlite(path: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
        },
        # A file, so that tests with several processes and threads share it.
        "TEST": {"NAME": path.with_name("test_codeframe.sqlite3")},
    }
