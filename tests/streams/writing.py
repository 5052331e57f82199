"""Events as the product commits them, as many as a test needs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from tasks.events.log import NewEvent, record
from tasks.models import Workspace


def commit(
    workspace: Workspace | UUID,
    count: int = 1,
    *,
    each: int = 50,
    pause_s: float = 0,
    **fields: Any,
) -> None:
    """In transactions of `each`; `n` in the payload counts from 1."""
    key = workspace if isinstance(workspace, UUID) else workspace.id
    fields.setdefault("type", "TEST")
    extra = fields.pop("payload", {})
    for first in range(1, count + 1, each):
        numbers = range(first, min(first + each, count + 1))
        with transaction.atomic():
            events = [NewEvent(payload={"n": n, **extra}, **fields) for n in numbers]
            record(workspace_id=key, events=events)
        time.sleep(pause_s)


@contextmanager
def committing(workspace: Workspace, count: int, **how: Any) -> Iterator[None]:
    """Beside the test; waits for the last commit, and raises what went wrong."""
    errors: list[BaseException] = []

    def write() -> None:
        try:
            commit(workspace, count, **how)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert not errors
