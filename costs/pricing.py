"""What calls cost: overrides of an operator, then a table that came with a package, then the
engine's own word. An unknown price is None, never 0."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import Any

from django.utils import timezone

from costs.calls import Call
from costs.models import PriceOverride
from costs.money import exact
from costs.tokens import NAMES, Tokens

TABLE = "genai-prices"
OVERRIDE = "override"
ENGINE = "engine"
MILLION = 10**6
_DATED = re.compile(r"-\d{8}$")


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A call with its price; `cost_usd` is what counts, None is unpriced."""

    call: Call
    computed_usd: Decimal | None = None
    cost_usd: Decimal | None = None
    source: str = ""
    version: str = ""


def price_calls(calls: Sequence[Call]) -> list[Charge]:
    """One query whatever their number. The first call loads the table, which takes about a second:
    so price outside of transactions."""
    overrides = _overrides({call.model for call in calls})
    return [_charge(call, overrides) for call in calls]


def is_priced(model: str, provider: str = "") -> bool:
    """Whether a call of this model made now would have a price."""
    now = timezone.now()
    found = _override(model, provider, now, _overrides({model}))
    return found is not None or _by_table(Tokens(output=1), model, provider, now) is not None


def _charge(call: Call, overrides: Sequence[PriceOverride]) -> Charge:
    override = _override(call.model, call.provider, call.at, overrides)
    if override is not None:
        usd = exact(_by_override(call.tokens, override))
        name = f"{override.valid_from:%Y-%m-%d}"
        return Charge(call=call, computed_usd=usd, cost_usd=usd, source=OVERRIDE, version=name)
    told = call.tokens or not call.calls  # a call of which no counts are known is not free
    computed = _of_all_calls(call) if told else None
    if computed is not None:
        usd = exact(computed)
        return Charge(
            call=call, computed_usd=usd, cost_usd=usd, source=TABLE, version=_table_version()
        )
    # Command lines that do not know a price either report 0; a last word of 0 settles.
    if call.reported_usd or (call.reported_usd is not None and not call.calls):
        return Charge(call=call, cost_usd=exact(call.reported_usd), source=ENGINE)
    return Charge(call=call)


# -- overrides -----------------------------------------------------------------------------------


def _overrides(models: set[str]) -> list[PriceOverride]:
    """The latest first."""
    names = {name for model in models for name in _names(model)}
    return list(PriceOverride.objects.filter(model__in=names).order_by("-valid_from"))


def _override(
    model: str, provider: str, at: datetime, overrides: Sequence[PriceOverride]
) -> PriceOverride | None:
    """The exact name before the shorter ones, the provider's own before any provider's."""
    for name in _names(model):
        for whose in dict.fromkeys((provider, "")):
            for row in overrides:
                if (row.model, row.provider) == (name, whose) and row.valid_from <= at:
                    return row
    return None


def _by_override(tokens: Tokens, row: PriceOverride) -> Decimal:
    read = row.input_usd if row.cache_read_usd is None else row.cache_read_usd
    written = row.input_usd if row.cache_write_usd is None else row.cache_write_usd
    total = tokens.input * row.input_usd + tokens.output * row.output_usd
    return (total + tokens.cache_read * read + tokens.cache_write * written) / MILLION


def _names(model: str) -> tuple[str, ...]:
    """As told, without the provider before a slash, without a date at the end."""
    bare = model.rpartition("/")[2]
    return tuple(dict.fromkeys((model, bare, _DATED.sub("", bare))))


# -- the table -----------------------------------------------------------------------------------


def _of_all_calls(call: Call) -> Decimal | None:
    """A long request has a higher price, so a sum over several is priced as if they were alike."""
    parts = max(1, call.calls)
    each = Tokens(**{name: getattr(call.tokens, name) // parts for name in NAMES})
    rest = {name: getattr(each, name) * (parts - 1) for name in NAMES}
    last = call.tokens.minus(Tokens(**rest))
    price = _by_table(last, call.model, call.provider, call.at)
    if price is None or parts == 1:
        return price
    alike = _by_table(each, call.model, call.provider, call.at)
    return None if alike is None else price + alike * (parts - 1)


def _by_table(tokens: Tokens, model: str, provider: str, at: datetime) -> Decimal | None:
    genai = _table()
    usage = genai.Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
    )
    prefix, _, bare = model.rpartition("/")
    # A provider that is not in the table sells under its own prices, if for money at all.
    ways = ((bare, provider or prefix or None), (model, provider or None))
    for name, whose in dict.fromkeys(ways):
        try:
            price = genai.calc_price(usage, name, provider_id=whose, genai_request_timestamp=at)
        except LookupError:
            continue
        return Decimal(price.total_price)
    return None


@cache
def _table() -> Any:
    """Imported when it is needed: it takes longer than everything else of a start."""
    import genai_prices

    return genai_prices


@cache
def _table_version() -> str:
    return version(TABLE)
