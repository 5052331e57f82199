"""How money and token counts are shown on pages."""

from decimal import Decimal

from django import template

from costs import money

register = template.Library()


@register.filter
def dollars(value: Decimal | None) -> str:
    """Unknown is a dash, never 0."""
    return "–" if value is None else money.dollars(Decimal(value))


@register.filter
def counted(value: int | None) -> str:
    """With thin groups of digits, exact."""
    return f"{value or 0:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
