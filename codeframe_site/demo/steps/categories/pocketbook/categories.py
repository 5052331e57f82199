"""What was spent on what."""

from collections import Counter
from collections.abc import Iterable

from .entries import Entry


def by_category(entries: Iterable[Entry]) -> dict[str, int]:
    """Cents per category, the dearest first."""
    totals: Counter[str] = Counter()
    for entry in entries:
        totals[entry.category] += entry.cents
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))
