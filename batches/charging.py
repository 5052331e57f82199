"""Usage as agents tell it, made into calls of the ledger."""

from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from typing import Any

from batches.engines.events import Usage
from costs.calls import Call
from costs.pricing import Charge
from costs.tokens import Tokens


def call_of(usage: Usage, *, agent: str, provider: str, at: datetime) -> Call:
    return Call(
        call_id=usage.call_id,
        agent=agent,
        provider=provider,
        model=usage.model or "unknown",
        at=at,
        tokens=usage.tokens,
        calls=usage.calls,
        reported_usd=usage.reported_usd,
        estimated=usage.estimated,
        settles=usage.settles,
        note=usage.note,
    )


def summary(charges: Iterable[Charge]) -> dict[str, Any]:
    """Of what was charged at once, as the event says it; dollars as text, so that none is lost."""
    charged = list(charges)
    calls = [charge.call for charge in charged]
    tokens = reduce(Tokens.plus, (call.tokens for call in calls), Tokens())
    known = [charge.cost_usd for charge in charged if charge.cost_usd is not None]
    reported = [call.reported_usd for call in calls if call.reported_usd is not None]
    return {
        "calls": sum(call.calls for call in calls),
        "models": sorted({call.model for call in calls}),
        "input_tokens": tokens.input,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
        "cost_usd": str(sum(known)) if known else None,
        "reported_usd": str(sum(reported)) if reported else None,
        "unpriced": sum(charge.cost_usd is None for charge in charged),
        "estimated": any(call.estimated for call in calls),
    }
