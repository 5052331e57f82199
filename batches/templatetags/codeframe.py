"""What our templates show in one way everywhere: states, durations, times, names from outside."""

from datetime import datetime
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
    """How long ago, with the exact time behind it."""
    if value is None:
        return "–"
    return format_html(
        '<time datetime="{}" title="{} UTC">{} ago</time>',
        value.isoformat(),
        value.strftime("%Y-%m-%d %H:%M:%S"),
        _age(value),
    )


def _age(value: datetime) -> str:
    age_s = (timezone.now() - value).total_seconds()
    return f"{max(0, age_s):.0f} s" if age_s < 60 else timesince(value, depth=1)


@register.filter
def short(value: object) -> str:
    """The first digits of an id or a commit."""
    return str(value).replace("-", "")[:8]
