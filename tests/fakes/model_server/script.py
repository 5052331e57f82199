"""What the fake model says: turns with text, tool calls and usage, and what goes wrong before."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

Kind = Literal["status", "cut", "malformed", "overloaded", "stall", "slow"]
FOREVER = 10**9


@dataclass(frozen=True, kw_only=True)
class Usage:
    """`input` is what no cache held; `reasoning` is a part of `output`."""

    input: int = 100
    cache_read: int = 0
    cache_write: int = 0
    output: int = 10
    reasoning: int = 0

    @property
    def total_input(self) -> int:
        return self.input + self.cache_read + self.cache_write

    def plus(self, other: "Usage") -> "Usage":
        names = ("input", "cache_read", "cache_write", "output", "reasoning")
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})


NOTHING = Usage(input=0, output=0)


@dataclass(frozen=True)
class Call:
    """`arguments` as text are sent as they are, valid JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Happens to the next `times` requests for its turn; `status` and `overloaded` give no turn."""

    kind: Kind
    code: int = 200
    retry_after: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | bytes | None = None
    delay_s: float = 0.0
    times: int = 1


def status(code: int, *, times: int = 1, **extra: Any) -> Fault:
    """An error answer. `extra`: retry_after, headers, body."""
    return Fault(kind="status", code=code, times=times, **extra)


def cut(times: int = 1) -> Fault:
    """Half of the answer, then the connection is closed."""
    return Fault(kind="cut", times=times)


def malformed(times: int = 1) -> Fault:
    """An answer of the right form whose JSON is broken half-way."""
    return Fault(kind="malformed", times=times)


def overloaded(times: int = 1) -> Fault:
    """Status 200, and then an error inside the stream (an error answer where nothing streams)."""
    return Fault(kind="overloaded", code=529, times=times)


def stall(times: int = 1) -> Fault:
    """Half of the answer, then silence until the server ends or `release` is called."""
    return Fault(kind="stall", times=times)


def slow(delay_s: float, times: int = 1) -> Fault:
    """The whole answer, with this delay before each piece."""
    return Fault(kind="slow", delay_s=delay_s, times=times)


@dataclass(frozen=True)
class Turn:
    """`hold` stops every answer half-way until it is set."""

    text: str = ""
    calls: Sequence[Call] = ()
    usage: Usage = Usage()
    faults: Sequence[Fault] = ()
    hold: threading.Event | None = None
    stop: Literal["auto", "length", "refusal"] = "auto"
    thinking: str = ""


class Script:
    """`when`: used for requests with that text in them; "" fits all.

    The turn is chosen by the replies in the request's history, so that conversations may run side
    by side and be continued; with `in_order` it is one after the other, whatever the history says.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        *,
        when: str = "",
        in_order: bool = False,
        last_repeats: bool = False,
    ) -> None:
        self.turns = list(turns)
        self.when = when
        self._in_order = in_order
        self._last_repeats = last_repeats
        self._answered = 0
        self._used: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def step(self, replies: int) -> int | None:
        """None behind the end."""
        wanted = self._answered if self._in_order else replies
        if wanted < len(self.turns):
            return wanted
        return len(self.turns) - 1 if self._last_repeats and self.turns else None

    def fault(self, step: int) -> Fault | None:
        """The next one of this turn, which is used up by asking."""
        with self._lock:
            for place, fault in zip(count(), self.turns[step].faults, strict=False):
                used = self._used.get((step, place), 0)
                if used < fault.times:
                    self._used[step, place] = used + 1
                    return fault
        return None

    def answered(self) -> None:
        with self._lock:
            self._answered += 1
