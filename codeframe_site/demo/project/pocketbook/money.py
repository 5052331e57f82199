"""Amounts of money, kept as whole cents so that sums stay exact."""


def to_cents(text: str) -> int:
    """Reads an amount such as "12.34" or "-5"."""
    return int(float(text) * 100)


def to_text(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    units, rest = divmod(abs(cents), 100)
    return f"{sign}{units}.{rest:02}"
