"""`Prefer: wait=N`: a caller that would rather wait a little than ask again.

A waiter keeps its own thread, gives its database connection back, and there are few of them: one
more gets 202 at once, as everyone does who did not ask to wait.
"""

import re
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection
from rest_framework.request import Request
from rest_framework.response import Response

from tasks.turnstile import aside

MAX_WAIT_SECONDS = 30
FIRST_LOOK_SECONDS = 0.1
LAST_LOOK_SECONDS = 1.0
"""Between two looks; longer and longer, since most of what ends soon ends very soon."""
_places = threading.BoundedSemaphore(settings.MAX_WAITERS)
_WAIT = re.compile(r"(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])")


def answer_when(
    request: Request, *, rested: Callable[[], bool], body: Callable[[], Any], location: str
) -> Response:
    """200 with the body when it came to rest in time, else 202; both say where to look."""
    seconds = wanted_seconds(request)
    done = rested() or (seconds > 0 and _wait(rested, seconds))
    headers = {"Location": location}
    if seconds:
        headers["Preference-Applied"] = f"wait={seconds}"
    return Response(body(), status=200 if done else 202, headers=headers)


def wanted_seconds(request: Request) -> int:
    match = _WAIT.search(request.headers.get("Prefer", ""))
    return min(int(match[1]), MAX_WAIT_SECONDS) if match else 0


def _wait(rested: Callable[[], bool], seconds: int) -> bool:
    if not _places.acquire(blocking=False):
        return False
    try:
        deadline = time.monotonic() + seconds
        pause = FIRST_LOOK_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            connection.close()  # asleep it would keep one of a bounded number
            with aside():
                time.sleep(min(pause, left))
            pause = min(pause * 1.5, LAST_LOOK_SECONDS)
            if rested():
                return True
        return False
    finally:
        _places.release()
