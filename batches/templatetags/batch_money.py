"""A batch's money on its page: what it spent, its caps, and its provider's pause."""

from typing import Any

from django import template
from django.utils import timezone

from batches.models import Batch
from batches.money import Money
from costs.budgets import limits_of

register = template.Library()


@register.inclusion_tag("partials/batch_money.html")
def batch_money(batch: Batch) -> dict[str, Any]:
    money = Money([batch])
    return {
        "spent": money.spent(batch),
        "pause": money.pause(batch),
        "limits": limits_of([batch.id]).get(batch.id, []),
        "now": timezone.now(),
    }
