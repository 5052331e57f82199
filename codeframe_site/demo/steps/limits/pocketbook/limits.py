"""Limits per category, and what went over them."""

from collections.abc import Iterable, Mapping

from .money import to_cents, to_text


def parse_limits(settings: Iterable[str]) -> dict[str, int]:
    """Reads `groceries=300`; raises ValueError naming what is not like that."""
    limits = {}
    for setting in settings:
        category, equals, amount = setting.partition("=")
        if not category or not equals:
            raise ValueError(f"expected CATEGORY=AMOUNT, got {setting!r}")
        limits[category] = to_cents(amount)
    return limits


def warnings(totals: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    return [
        f"{category} is {to_text(totals[category] - limit)} over its limit of {to_text(limit)}"
        for category, limit in limits.items()
        if totals.get(category, 0) > limit
    ]
