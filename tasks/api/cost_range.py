"""The days that sums are asked for; one rule for every report, its page and its export."""

from datetime import date

from rest_framework.request import Request

from costs.periods import Range, last_days
from tasks.api.describe import asked, counted
from tasks.api.query import refuse, whole_number

MAX_DAYS = 365
DEFAULT_DAYS = 30
RANGE = [
    counted("days", "The last so many days, today included", 1, MAX_DAYS, DEFAULT_DAYS),
    asked("from", "Instead of days: the first day, like 2026-01-31"),
    asked("to", "The last day; today when it is left out"),
]


def asked_range(request: Request, time_zone: str) -> Range:
    """Days are the workspace's, from midnight to midnight there. Raises ValidationFailed."""
    days = whole_number(request, "days", DEFAULT_DAYS, least=1, most=MAX_DAYS)
    first, last = _day(request, "from"), _day(request, "to")
    recent = last_days(days, time_zone)
    if first is None and last is None:
        return recent
    if first is None or request.GET.get("days"):
        refuse("from" if first is None else "days", "give days, or from and to")
    found = Range(first=first, last=last or recent.last, time_zone=time_zone)
    if not 1 <= found.days <= MAX_DAYS:
        refuse("to", f"must be from the first day on, and at most {MAX_DAYS} days in all")
    return found


def _day(request: Request, name: str) -> date | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    try:
        found = date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        found = None
    # The years around have no midnight in every time zone.
    if found is None or not 1970 <= found.year <= 9000:
        refuse(name, "is not a day like 2026-01-31")
    return found
