"""Database writes that outlast a short outage of the database."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

T = TypeVar("T")
log = logging.getLogger(__name__)


def persist(call: Callable[[], T], *, give_up_after_s: float | None = None) -> T:
    """Calls again while the database is gone or locked; then raises what it said last.

    The default limit is the lease: whoever could not write for that long owns nothing any more.
    """
    limit = settings.LEASE_SECONDS if give_up_after_s is None else give_up_after_s
    deadline = time.monotonic() + limit
    pause = 0.05
    while True:
        try:
            return call()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block or time.monotonic() + pause > deadline:
                raise
            log.warning("database: %s; trying again", _first_line(error))
            connection.close()
            time.sleep(pause)
            pause = min(2.0, pause * 2)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
