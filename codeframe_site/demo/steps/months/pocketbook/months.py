"""What was spent when."""

from collections import Counter
from collections.abc import Iterable

from .entries import Entry


def by_month(entries: Iterable[Entry]) -> dict[str, int]:
    """Cents per month ("2024-03"), the earliest first."""
    totals: Counter[str] = Counter()
    for entry in entries:
        totals[f"{entry.day:%Y-%m}"] += entry.cents
    return dict(sorted(totals.items()))
