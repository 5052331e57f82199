"""Usage as agents tell it, made into charges of the ledger."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from batches.engines.events import Usage
from costs.ledger import Call
from costs.pricing import Priced, price

REPORTED = "reported by the agent"


def charge(usage: Usage, *, agent: str, provider: str, at: datetime) -> Call:
    """By the known price; by the agent's own figure where none is known."""
    tokens = usage.tokens
    found = None
    if tokens or usage.calls == 0:
        found = price(provider=provider, model=usage.model, tokens=tokens, at=at)
    if found is None and usage.reported_usd is not None:
        found = Priced(usd=usage.reported_usd, source=REPORTED, version="")
    return Call(
        call_id=usage.call_id,
        agent=agent,
        model=usage.model or "unknown",
        at=at,
        input_tokens=tokens.input,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
        reasoning_tokens=tokens.reasoning,
        calls=usage.calls,
        cost_usd=found.usd if found else None,
        reported_usd=usage.reported_usd,
        price_source=found.source if found else "",
        price_version=found.version if found else "",
        estimated=usage.estimated,
        note=usage.note[:200],
    )


def summary(calls: Iterable[Call]) -> dict[str, Any]:
    """Of what was charged at once, as the event says it; dollars as text, so that none is lost."""
    charged = list(calls)
    known = [call.cost_usd for call in charged if call.cost_usd is not None]
    reported = [call.reported_usd for call in charged if call.reported_usd is not None]
    return {
        "calls": sum(call.calls for call in charged),
        "models": sorted({call.model for call in charged}),
        "input_tokens": sum(call.input_tokens for call in charged),
        "cache_read_tokens": sum(call.cache_read_tokens for call in charged),
        "cache_write_tokens": sum(call.cache_write_tokens for call in charged),
        "output_tokens": sum(call.output_tokens for call in charged),
        "cost_usd": str(sum(known)) if known else None,
        "reported_usd": str(sum(reported)) if reported else None,
        "unpriced": sum(call.cost_usd is None for call in charged),
        "estimated": any(call.estimated for call in charged),
    }
