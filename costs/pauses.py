"""Limits that providers set: nothing is launched for one until the time it gave.

A provider that gives no time, or one that cannot be, is left alone for longer each time in a row.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from costs.models import ProviderPause

FIRST_SECONDS = 30.0
MOST_SECONDS = 15 * 60.0
LEAST_SECONDS = 1.0
FURTHEST = timedelta(days=8)
"""Quotas come back within a week; a later time is a mistake in its unit."""
IN_A_ROW = timedelta(minutes=10)
PATIENT_STRIKES = 5
"""So many in a row, and a time that was given is no longer trusted alone."""


def pause(provider: str, *, until: datetime | None = None, message: str = "") -> ProviderPause:
    """Several runs that meet one limit make one pause, which ends with the latest of them."""
    now = timezone.now()
    with transaction.atomic():
        rows = ProviderPause.objects.select_for_update(no_key=True)
        known, made = rows.get_or_create(
            provider=provider, defaults={"since": now, "until": now, "strikes": 0}
        )
        under_way = not made and known.until > now
        if not under_way:
            known.since = now
            known.strikes = known.strikes + 1 if now - known.until < IN_A_ROW else 1
        end = _end(until, now, known.strikes)
        known.until = max(known.until, end) if under_way else end
        known.message = message[:500]
        known.save()
    return known


def _end(until: datetime | None, now: datetime, strikes: int) -> datetime:
    backoff = now + timedelta(seconds=min(MOST_SECONDS, FIRST_SECONDS * 2 ** min(strikes - 1, 10)))
    if until is None or not now - timedelta(hours=1) < until < now + FURTHEST:
        return backoff
    given = max(until, now + timedelta(seconds=LEAST_SECONDS))
    return max(given, backoff) if strikes > PATIENT_STRIKES else given


def current(providers: Iterable[str] | None = None) -> dict[str, ProviderPause]:
    """By provider; all when none is named. One query."""
    rows = ProviderPause.objects.filter(until__gt=timezone.now())
    if providers is not None:
        rows = rows.filter(provider__in=list(providers))
    return {row.provider: row for row in rows}


def lift(provider: str) -> bool:
    """By hand: launching goes on at once. False when there was no pause."""
    rows = ProviderPause.objects.filter(provider=provider, until__gt=timezone.now())
    return bool(rows.update(until=timezone.now()))
