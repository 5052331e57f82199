"""What our templates show in one way everywhere: states, durations, times, names from outside."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from batches.terminal.states import seconds
from batches.web.marks import mark, word

register = template.Library()


@register.simple_tag
def state(value: object) -> SafeString:
    shown = mark(str(value))
    return format_html(
        '<span class="state {}"><span class="sign" aria-hidden="true">{}</span> {}</span>',
        shown.tone,
        shown.sign,
        word(str(value)),
    )


@register.filter
def tone(value: object) -> str:
    return mark(str(value)).tone


@register.filter
def sign(value: object) -> str:
    return mark(str(value)).sign


@register.filter
def in_words(value: object) -> str:
    return word(str(value))


@register.filter
def span(value: float | None) -> str:
    """Seconds as a person says them; less than one as milliseconds."""
    if value is None:
        return "–"
    return seconds(value) if value >= 1 else f"{value * 1000:.0f} ms"


@register.filter
def ran_for(row: Any) -> str:
    """From `started_at` to the end, or until now while it has none."""
    began = row.started_at
    ended = row.ended_at if hasattr(row, "ended_at") else row.finished_at
    if began is None:
        return "–"
    return span(max(0.0, ((ended or timezone.now()) - began).total_seconds()))


@register.simple_tag
def moment(value: datetime | None) -> SafeString | str:
    """How long ago; the browser counts on, and shows the exact local time on hover."""
    if value is None:
        return "–"
    return _time(value, "age", f"{_age(value)} ago")


@register.simple_tag
def elapsed(since: datetime | None) -> SafeString | str:
    """How long it runs by now, counting on in the browser."""
    if since is None:
        return "–"
    took = max(0.0, (timezone.now() - since).total_seconds())
    return _time(since, "elapsed", f"{took:.0f} s" if took < 60 else seconds(took))


@register.simple_tag
def clock(value: datetime | None) -> SafeString | str:
    """The time of day."""
    return "–" if value is None else _time(value, "clock", f"{value:%H:%M:%S} UTC")


@register.simple_tag
def date(value: datetime | None) -> SafeString | str:
    """Day and time."""
    return "–" if value is None else _time(value, "date", f"{value:%Y-%m-%d %H:%M} UTC")


def _time(value: datetime, kind: str, text: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{} UTC" data-{}>{}</time>',
        value.isoformat(),
        value.strftime("%Y-%m-%d %H:%M:%S"),
        kind,
        text,
    )


def _age(value: datetime) -> str:
    age_s = (timezone.now() - value).total_seconds()
    return f"{max(0, age_s):.0f} s" if age_s < 60 else timesince(value, depth=1)


@register.filter
def money(value: Decimal | float | None) -> str:
    """Dollars with cents, and four decimals below one cent; unknown is a dash, never 0."""
    if value is None:
        return "–"
    amount = Decimal(value)
    if amount and abs(amount) < Decimal("0.01"):
        return f"${amount:.4f}"
    return f"${amount:,.2f}"


@register.filter
def tokens(value: int | None) -> str:
    """48k, 2.1M; exact below a thousand."""
    if value is None:
        return "–"
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= unit:
            shown = value / unit
            return f"{shown:.1f}{letter}" if shown < 10 else f"{shown:.0f}{letter}"
    return str(value)


@register.filter
def short(value: object) -> str:
    """The first digits of an id or a commit."""
    return str(value).replace("-", "")[:8]
