"""What only the pages of batches and runs show: lines of a diff, rough times, what is stuck."""

from django import template

from batches.stuck import Stuck, stuck
from batches.terminal.states import seconds
from batches.web.diff import reading

register = template.Library()
register.filter("shown", reading.shown)
register.filter("side_by_side", reading.side_by_side)


@register.simple_tag
def stuck_rows() -> list[Stuck]:
    return stuck()


@register.filter
def roughly(value: float) -> str:
    """An estimate claims no more than it knows."""
    if value < 60:
        return "less than a minute"
    minutes = round(value / 60)
    return f"about {minutes} min" if minutes < 60 else f"about {seconds(minutes * 60)}"
