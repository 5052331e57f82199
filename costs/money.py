"""Dollars: Decimal where people and prices meet them, whole units where a database adds them."""

from decimal import ROUND_HALF_EVEN, Decimal

UNITS = 10**10
"""Units in a dollar: as many decimals as the columns of dollars have."""
ZERO = Decimal(0)
_SMALLEST = Decimal(1) / UNITS


def exact(usd: Decimal) -> Decimal:
    """As a column keeps it."""
    return usd.quantize(_SMALLEST, rounding=ROUND_HALF_EVEN)


def to_units(usd: Decimal) -> int:
    return int(exact(usd) * UNITS)


def of_units(units: int) -> Decimal:
    return exact(Decimal(units) / UNITS)


def dollars(usd: Decimal) -> str:
    """With cents; four decimals under one cent, so that little is not shown as nothing."""
    places = 4 if 0 < usd < Decimal("0.01") else 2
    return f"${usd:,.{places}f}"
