"""Dollars for tokens: by the prices in the database, else by a list of prices that is installed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version

from django.db.models import Q

from costs.models import Price
from costs.tokens import Tokens

LIST = "genai-prices"
OWN = "own price"
MILLION = Decimal(10**6)
PLACES = Decimal("1e-10")


@dataclass(frozen=True, kw_only=True)
class Priced:
    usd: Decimal
    source: str
    version: str


def price(*, provider: str, model: str, tokens: Tokens, at: datetime) -> Priced | None:
    """None where no price is known, which is not nothing."""
    own = _own(provider, model, at)
    if own is not None:
        return Priced(usd=_by(own, tokens), source=OWN, version=own.valid_from.isoformat())
    usd = _listed(provider, model, tokens, at) if model else None
    if usd is None:
        return None
    return Priced(usd=usd.quantize(PLACES), source=LIST, version=_version())


def _own(provider: str, model: str, at: datetime) -> Price | None:
    rows = Price.objects.filter(
        Q(provider="") | Q(provider=provider), model=model, valid_from__lte=at.date()
    )
    return rows.order_by("-valid_from", "-provider").first()


def _by(own: Price, tokens: Tokens) -> Decimal:
    read = own.input_usd if own.cache_read_usd is None else own.cache_read_usd
    write = own.input_usd if own.cache_write_usd is None else own.cache_write_usd
    usd = tokens.input * own.input_usd + tokens.output * own.output_usd
    usd += tokens.cache_read * read + tokens.cache_write * write
    return (usd / MILLION).quantize(PLACES)


def _listed(provider: str, model: str, tokens: Tokens, at: datetime) -> Decimal | None:
    # Only here: it takes seconds to load, and most processes never price anything.
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
    )
    for named in dict.fromkeys((provider or None, None)):
        try:
            found = calc_price(
                usage, model_ref=model, provider_id=named, genai_request_timestamp=at
            )
        except LookupError:
            continue
        return found.total_price
    return None


@cache
def _version() -> str:
    return version(LIST)
