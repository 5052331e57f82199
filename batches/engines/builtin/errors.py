"""What ends the agent early, and the exit code of each end."""

from typing import Literal

ErrorKind = Literal[
    "auth",
    "rate_limited",
    "server_error",
    "cut",
    "malformed",
    "stalled",
    "unreachable",
    "bad_request",
    "context",
]
RETRIED = frozenset({"rate_limited", "server_error", "cut", "malformed", "stalled", "unreachable"})

EXIT_CODES = {
    "done": 0,
    "usage": 2,
    "internal": 70,
    "auth": 10,
    "rate_limited": 11,
    "server_error": 12,
    "cut": 13,
    "malformed": 14,
    "stalled": 15,
    "unreachable": 16,
    "bad_request": 17,
    "context": 18,
    "question": 20,
    "turns": 21,
    "tokens": 22,
    "dollars": 23,
    "loop": 24,
    "refusal": 25,
    "empty": 26,
    "length": 27,
    "stopped": 143,
}
"""By the reason that the last line tells."""


class ProviderError(Exception):
    """`retry_after_s` is what the provider asked for; `final`: asking again is of no use."""

    def __init__(
        self,
        kind: ErrorKind,
        text: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        final: bool = False,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.status = status
        self.retry_after_s = retry_after_s
        self.final = final or kind not in RETRIED


class Ending(Exception):
    """The loop is over: `reason` is one of EXIT_CODES."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class Stopped(BaseException):
    """Raised by the signal handler wherever the process is."""
