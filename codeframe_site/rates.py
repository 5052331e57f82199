"""How often somebody did something lately, counted over all web processes.

Each process counts for itself and adds to the shared row only now and then, so that most requests
cost no query: N processes may let through N half-percents too many.
"""

import hashlib
import math
import random
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from codeframe_site.models import RateCount

SHARED_EVERY = 200
"""An allowance is told to the others in so many parts; one under that is told each time."""
PURGE_SHARE = 0.01
MOST_SEEN = 10_000
_ADD = (
    # Only the table's own name is put in.
    f"INSERT INTO {RateCount._meta.db_table} AS row (key, slot, count, before, until) "  # noqa: S608
    "VALUES (%s, %s, %s, 0, %s) ON CONFLICT (key) DO UPDATE SET "
    "before = CASE excluded.slot - row.slot "
    "WHEN 0 THEN row.before WHEN 1 THEN row.count ELSE 0 END, "
    "count = CASE excluded.slot - row.slot WHEN 0 THEN row.count ELSE 0 END + excluded.count, "
    "slot = excluded.slot, until = excluded.until RETURNING count, before"
)


@dataclass
class _Seen:
    """Of one slot of time and the one before; `unsent` is what the others do not know yet."""

    slot: int
    until: float
    count: int = 0
    before: int = 0
    unsent: int = 0

    def turn_to(self, slot: int, until: float) -> None:
        self.until = until
        if slot == self.slot:
            return
        self.before = self.count + self.unsent if slot == self.slot + 1 else 0
        self.slot, self.count, self.unsent = slot, 0, 0

    def take(self, *, at_least: int) -> int:
        """What is told to the others now; no other thread tells it again."""
        if self.unsent < at_least:
            return 0
        taken, self.unsent = self.unsent, 0
        self.count += taken
        return taken


_seen: dict[str, _Seen] = {}
_lock = threading.Lock()


def wait_s(key: str, *, limit: int, duration_s: float) -> float:
    """0.0 when it may happen once more, and then it is counted; else the seconds until it may."""
    now = time.time()
    slot, into = divmod(now, duration_s)
    until = (slot + 2) * duration_s
    with _lock:
        seen = _seen_of(key, int(slot), until, now)
        wait = _wait(seen, limit, duration_s, into)
        if wait:
            return wait
        seen.unsent += 1
        adding = seen.take(at_least=max(1, limit // SHARED_EVERY))
    if adding:
        _share(key, seen, adding, until=until)
    return 0.0


def forget() -> None:
    """What this process counted."""
    with _lock:
        _seen.clear()


def _seen_of(key: str, slot: int, until: float, now: float) -> _Seen:
    """Whoever tries a million names does not fill the memory with them."""
    if len(_seen) > MOST_SEEN:
        for other in [name for name, seen in _seen.items() if seen.until < now]:
            del _seen[other]
    seen = _seen.setdefault(key, _Seen(slot, until))
    seen.turn_to(slot, until)
    return seen


def _wait(seen: _Seen, limit: int, duration_s: float, into: float) -> float:
    """The slot before counts for the part of it that is still within the last `duration_s`."""
    rest = duration_s - into
    mine = seen.count + seen.unsent
    if mine >= limit:
        return max(rest, 1.0)
    if mine + math.ceil(seen.before * rest / duration_s) < limit:
        return 0.0
    return max(rest - (limit - mine - 1) * duration_s / seen.before, 1.0)


def _share(key: str, seen: _Seen, adding: int, *, until: float) -> None:
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    slot = seen.slot
    ends = datetime.fromtimestamp(until, UTC)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [digest, slot, adding, connection.ops.adapt_datetimefield_value(ends)])
        count, before = cursor.fetchone()
    with _lock:
        if seen.slot == slot:
            seen.count = max(count, seen.count)
            seen.before = max(before, seen.before)
    if random.random() < PURGE_SHARE:  # noqa: S311
        RateCount.objects.filter(until__lt=datetime.now(UTC)).delete()
