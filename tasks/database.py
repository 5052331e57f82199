"""The database as a command finds it: there, and as new as the code, or refused with one line."""

import fcntl
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from tasks.errors import DomainError
from tasks.text import one_line

FIRST = frozenset({("tasks", "0001_initial"), ("batches", "0001_initial")})


def prepare_database() -> None:
    """A fresh SQLite file gets its tables; anything else is the operator's step.

    Raises DomainError.
    """
    try:
        pending = _pending()
        if pending & FIRST and connection.vendor == "sqlite":
            _migrate()
        elif pending:
            raise DomainError("the database is older than this program: run manage.py migrate")
    except DatabaseError as error:
        raise DomainError(told(error)) from error


def told(error: DatabaseError) -> str:
    """In one line, with the file where it is one."""
    where = f" {connection.settings_dict['NAME']}" if connection.vendor == "sqlite" else ""
    return f"database{where}: {one_line(str(error))}"


def _pending() -> set[tuple[str, str]]:
    """By the names of their files: to load them would take longer than many a command."""
    known = {
        (app.label, file.stem)
        for app in apps.get_app_configs()
        for file in Path(app.path, "migrations").glob("[0-9]*.py")
    }
    return known - set(MigrationRecorder(connection).applied_migrations())


def _migrate() -> None:
    """The race: of two first commands at once, the second would make tables that are there."""
    with (Path(settings.STATE_DIR) / "migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _pending():
            call_command("migrate", verbosity=0)
