"""A cap on requests under way: each sync view gets a thread of its own, without any cap by itself.

One more than the cap is told at once to come back, which costs no thread and no connection.
"""

import json
from typing import Any

from django.conf import settings

from codeframe_site.errors import RETRY_AFTER_SECONDS, error_body
from tasks.turnstile import Turnstile


class Limits:
    """Counted on the loop, so a plain number is enough."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.under_way = 0
        self.most = 0
        self.refused = 0
        self.answered = 0

    def enter(self) -> bool:
        if self.under_way >= self.cap:
            self.refused += 1
            return False
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        return True

    def leave(self) -> None:
        self.under_way -= 1
        self.answered += 1

    def state(self) -> dict[str, int]:
        return {
            "under_way": self.under_way,
            "most": self.most,
            "cap": self.cap,
            "refused": self.refused,
        }


LIMITS = Limits(settings.MAX_REQUESTS)
AT_WORK = 4
PATIENCE_S = 1.0
"""Seconds that a request waits for those before it; they may wait for the database."""
TURNSTILE = Turnstile(AT_WORK)


def refusal() -> list[dict[str, Any]]:
    """The messages of the 503 that is sent over the cap."""
    body = json.dumps(
        error_body("Service unavailable", "SERVICE_UNAVAILABLE", "too many requests are under way")
    ).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"retry-after", str(RETRY_AFTER_SECONDS).encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    return [
        {"type": "http.response.start", "status": 503, "headers": headers},
        {"type": "http.response.body", "body": body},
    ]
