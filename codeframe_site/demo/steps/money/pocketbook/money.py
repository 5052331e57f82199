"""Amounts of money, kept as whole cents so that sums stay exact."""

import re
from decimal import Decimal

AMOUNT = re.compile(r"-?\d+(\.\d{1,2})?", re.ASCII)


def to_cents(text: str) -> int:
    """Reads an amount such as "12.34" or "-5"; raises ValueError for anything else."""
    # Decimal alone would take "nan" and "1e3" for amounts.
    if not AMOUNT.fullmatch(text):
        raise ValueError(f"not an amount: {text!r}")
    return int(Decimal(text) * 100)


def to_text(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    units, rest = divmod(abs(cents), 100)
    return f"{sign}{units}.{rest:02}"
