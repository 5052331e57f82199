"""Days and months in a workspace's time zone; one rule for caps, sums and reports.

A day goes from its midnight there to the next, whatever its length; a call belongs to the day in
which it was made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def zone(name: str) -> tzinfo:
    """UTC for a name that this machine does not know (any more)."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def zone_problem(name: str) -> str | None:
    """Why this is no time zone, or None."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"{name!r} is not the name of a time zone, such as Europe/Berlin"
    return None


def day_of(at: datetime, time_zone: str) -> str:
    return at.astimezone(zone(time_zone)).date().isoformat()


def month_of(at: datetime, time_zone: str) -> str:
    return day_of(at, time_zone)[:7]


@dataclass(frozen=True, kw_only=True)
class Range:
    """Whole days, both ends included."""

    first: date
    last: date
    time_zone: str = "UTC"

    @property
    def zone(self) -> tzinfo:
        return zone(self.time_zone)

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def begin(self) -> datetime:
        return datetime.combine(self.first, time.min, self.zone)

    @property
    def end(self) -> datetime:
        """The first moment after it."""
        return datetime.combine(self.last + timedelta(days=1), time.min, self.zone)

    def __iter__(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range(self.days))

    def before(self) -> "Range":
        """As many days, just before it."""
        last = self.first - timedelta(days=1)
        first = self.first - timedelta(days=self.days)
        return Range(first=first, last=last, time_zone=self.time_zone)


def last_days(days: int, time_zone: str = "UTC", *, now: datetime | None = None) -> Range:
    """Today there is the last of them."""
    today = (now or datetime.now(UTC)).astimezone(zone(time_zone)).date()
    return Range(first=today - timedelta(days=days - 1), last=today, time_zone=time_zone)
