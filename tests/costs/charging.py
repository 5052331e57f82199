"""Calls that were charged, without an engine."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.db import transaction

from costs.calls import Call
from costs.ledger import Account, record_calls
from costs.pricing import Charge
from costs.tokens import Tokens


def make_call(**extra: Any) -> Call:
    given: dict[str, Any] = {
        "call_id": uuid4().hex,
        "agent": "fixer",
        "model": "m1",
        "at": datetime.now(UTC),
        "tokens": Tokens(input=10, output=1),
    }
    return Call(**(given | extra))


def charge(account: Account, cost: str | None, **extra: Any) -> None:
    """At a price that is given, or unpriced."""
    usd = None if cost is None else Decimal(cost)
    charged = Charge(call=make_call(**extra), computed_usd=usd, cost_usd=usd, source="test")
    with transaction.atomic():
        record_calls([charged], account)
