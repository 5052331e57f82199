"""Lines of a diff in templates."""

from django import template

from batches.web.diff import reading

register = template.Library()
register.filter("shown", reading.shown)
register.filter("side_by_side", reading.side_by_side)
