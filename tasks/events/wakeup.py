"""How the relay learns that something was committed: by SQLite's own counter, or by NOTIFY."""

import os
import select
from typing import Any, Protocol

from django.db import connection

CHANNEL = "codeframe_events"
LOOK_S = 0.015
"""Between two looks at SQLite's counter, which cost some ten microseconds each."""
POLL_S = 1.0
"""A look without a cause: a pooler in between may swallow what PostgreSQL sends."""


class Kick:
    """Wakes the relay's thread from any other."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        return self._read

    def give(self) -> None:
        try:
            os.write(self._write, b"x")
        except BlockingIOError:
            return  # full of kicks already

    def take(self) -> bool:
        try:
            return bool(os.read(self._read, 4096))
        except BlockingIOError:
            return False

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


class Wakeup(Protocol):
    def wait(self, kick: Kick) -> None:
        """Until something may have been committed, or a kick. Raises database errors."""
        ...

    def close(self) -> None: ...


class SqliteWakeup:
    """`data_version` changes when another connection commits; the relay's own only reads."""

    def __init__(self) -> None:
        self._seen = self._version()

    def wait(self, kick: Kick) -> None:
        while not select.select([kick], [], [], LOOK_S)[0]:
            version = self._version()
            if version != self._seen:
                self._seen = version
                return
        kick.take()

    def close(self) -> None:
        """Its connection is the thread's."""

    def _version(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA data_version")
            return int(cursor.fetchone()[0])


class PostgresWakeup:
    """A connection of its own, for a LISTEN ends with the connection."""

    def __init__(self) -> None:
        import psycopg

        given = connection.get_connection_params()
        kept = {name: value for name, value in given.items() if name not in _OF_DJANGO}
        self._listener: Any = psycopg.connect(**kept, autocommit=True)
        self._listener.execute(f"LISTEN {CHANNEL}")

    def wait(self, kick: Kick) -> None:
        """One wake-up for all that has been sent meanwhile."""
        ready = select.select([kick, self._listener], [], [], POLL_S)[0]
        if kick in ready:
            kick.take()
        if self._listener in ready:
            for _ in self._listener.notifies(timeout=0):
                pass

    def close(self) -> None:
        self._listener.close()


_OF_DJANGO = frozenset({"cursor_factory", "context", "prepare_threshold"})


def make_wakeup() -> Wakeup:
    return PostgresWakeup() if connection.vendor == "postgresql" else SqliteWakeup()
