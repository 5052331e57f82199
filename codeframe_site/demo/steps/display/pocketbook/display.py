"""Amounts for people to read: 1,250.00 €."""

from .money import to_text


def display(cents: int, symbol: str = "") -> str:
    units, _, rest = to_text(abs(cents)).partition(".")
    sign = "-" if cents < 0 else ""
    return f"{sign}{int(units):,}.{rest} {symbol}".rstrip()
