"""How this process holds its connections to PostgreSQL. SQLite opens a file, and needs neither."""

import os
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import connections

POOL_SHARE = 4
"""Requests under way per connection: most of a request is not the database's time."""
POOL_WAIT_S = 5.0
"""Then a request is told to come back, instead of waiting behind what is stuck."""
RECONNECT_S = 1.0
"""The pool waits twice as long after each attempt, so it begins anew after the second."""
WORKER_AGE_S = 600


def pool_size(requests: int) -> int:
    return max(2, -(-requests // POOL_SHARE))


def share_a_pool() -> None:
    """For the web process: its threads come and go, its connections stay and are bounded."""
    row = _postgresql()
    if row is None:
        return
    size = pool_size(settings.MAX_REQUESTS)
    row["CONN_MAX_AGE"] = 0
    row["OPTIONS"]["pool"] = {
        "min_size": 1,
        "max_size": size,
        "timeout": POOL_WAIT_S,
        "reconnect_timeout": RECONNECT_S,
        "reconnect_failed": _go_on,
    }


def keep_own() -> None:
    """For the worker: each of its threads keeps one, and a fork takes none along."""
    os.register_at_fork(before=connections.close_all)
    row = _postgresql()
    if row is not None:
        row["CONN_MAX_AGE"] = WORKER_AGE_S
        row["CONN_HEALTH_CHECKS"] = True


def _go_on(pool: Any) -> None:
    """For those who wait already: any new request makes the pool connect again by itself."""
    from psycopg_pool import PoolTimeout

    if pool.get_stats().get("requests_waiting"):
        with suppress(PoolTimeout):
            pool.putconn(pool.getconn(timeout=0.001))


def _postgresql() -> dict[str, Any] | None:
    """The settings that every connection made from now on reads."""
    row: dict[str, Any] = connections.settings["default"]
    return row if row["ENGINE"] == "django.db.backends.postgresql" else None
