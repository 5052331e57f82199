"""The database as a command finds it: there, with every table, or refused with one line."""

import fcntl
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from tasks.errors import DomainError
from tasks.text import one_line


def prepare_database() -> None:
    """A fresh SQLite file gets its tables; on a server that is the operator's step.

    Raises DomainError.
    """
    try:
        if not _tables_missing():
            return
        if connection.vendor != "sqlite":
            raise DomainError("the database lacks tables: run manage.py migrate first")
        _migrate()
    except DatabaseError as error:
        raise DomainError(told(error)) from error


def told(error: DatabaseError) -> str:
    """In one line, with the file where it is one."""
    where = f" {connection.settings_dict['NAME']}" if connection.vendor == "sqlite" else ""
    return f"database{where}: {one_line(str(error))}"


def _tables_missing() -> bool:
    wanted = set(connection.introspection.django_table_names())
    return not wanted <= set(connection.introspection.table_names())


def _migrate() -> None:
    """The race: of two first commands at once, the second would make tables that are there."""
    with (Path(settings.STATE_DIR) / "migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _tables_missing():
            call_command("migrate", verbosity=0)
