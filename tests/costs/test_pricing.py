from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from costs.models import PriceOverride
from costs.pricing import Charge, is_priced, price_calls
from costs.tokens import Tokens
from tests.costs.charging import make_call

pytestmark = pytest.mark.django_db

SONNET = "claude-sonnet-4-5"


def priced(**extra: Any) -> Charge:
    (charge,) = price_calls([make_call(**extra)])
    return charge


def override(model: str, **extra: Any) -> PriceOverride:
    prices = {"input_usd": Decimal(2), "output_usd": Decimal(4)}
    given = {"valid_from": datetime(2020, 1, 1, tzinfo=UTC)}
    return PriceOverride.objects.create(model=model, **(prices | given | extra))


def test_the_table_tells_fresh_from_cached_tokens() -> None:
    tokens = Tokens(input=36738, cache_read=22122, output=43)
    charge = priced(model=SONNET, tokens=tokens, reported_usd=Decimal("0.5"))
    assert charge.cost_usd == charge.computed_usd == Decimal("0.1174956")
    assert (charge.source, charge.version) == ("genai-prices", "0.2.3")
    assert charge.call.reported_usd == Decimal("0.5")


@pytest.mark.parametrize(
    "name", ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5", SONNET]
)
def test_a_model_is_known_by_its_longer_names(name: str) -> None:
    assert priced(model=name, tokens=Tokens(input=10**5)).cost_usd == Decimal("0.3")


def test_several_calls_told_as_one_are_not_priced_as_one_long_one() -> None:
    tokens = Tokens(input=10**6 + 3, cache_read=11, output=7)
    together = priced(model=SONNET, tokens=tokens, calls=10).cost_usd
    assert together == Decimal("3.0001173")
    assert priced(model=SONNET, tokens=tokens, calls=1).cost_usd > 6


def test_cached_tokens_are_never_billed_below_zero() -> None:
    charge = priced(model=SONNET, tokens=Tokens(input=100, cache_read=84160))
    assert charge.cost_usd == Decimal("0.025548")


@pytest.mark.parametrize(
    ("model", "provider"),
    [("no-such-model", ""), ("", ""), (SONNET, "ollama"), ("m/" * 50, ""), ("x" * 10_000, "y")],
)
def test_an_unknown_model_is_unpriced_and_not_free(model: str, provider: str) -> None:
    charge = priced(model=model, provider=provider)
    assert (charge.cost_usd, charge.source) == (None, "")
    assert not is_priced(model, provider)


def test_the_engine_is_believed_only_where_no_table_knows_better() -> None:
    assert priced(model="own", reported_usd=Decimal("0.3")).source == "engine"
    assert priced(model="own", reported_usd=Decimal("0.3")).cost_usd == Decimal("0.3")
    # Command lines report 0 for what they know no price of.
    assert priced(model="own", reported_usd=Decimal(0)).cost_usd is None
    assert priced(model=SONNET, reported_usd=Decimal(9)).source == "genai-prices"


def test_an_override_wins_from_its_own_day_on() -> None:
    override(SONNET)
    override(SONNET, input_usd=Decimal(8), valid_from=datetime(2026, 6, 1, tzinfo=UTC))
    million = Tokens(input=10**6)
    before = priced(model=SONNET, tokens=million, at=datetime(2026, 5, 31, 23, 59, tzinfo=UTC))
    after = priced(model=SONNET, tokens=million, at=datetime(2026, 6, 1, tzinfo=UTC))
    assert (before.cost_usd, after.cost_usd) == (2, 8)
    assert (after.source, after.version) == ("override", "2026-06-01")
    earlier = priced(model=SONNET, tokens=million, at=datetime(2019, 1, 1, tzinfo=UTC))
    assert earlier.source == "genai-prices"


def test_an_override_makes_a_model_priced_at_once() -> None:
    assert not is_priced("own")
    row = override("own", cache_read_usd=Decimal("0.5"), input_usd=Decimal(0))
    assert is_priced("own")
    charge = priced(model="own", tokens=Tokens(cache_read=10**6, cache_write=7, output=10**6))
    assert charge.cost_usd == Decimal("4.5")
    row.delete()
    override("own", valid_from=datetime.now(UTC) + timedelta(days=1))
    assert not is_priced("own")


def test_a_price_of_one_provider_is_not_anothers() -> None:
    override("own", provider="acme", input_usd=Decimal(1))
    override("own", input_usd=Decimal(2))
    million = Tokens(input=10**6)
    assert priced(model="own", provider="acme", tokens=million).cost_usd == 1
    assert priced(model="own", provider="other", tokens=million).cost_usd == 2


def test_every_model_of_the_table_prices_whatever_the_counts() -> None:
    import genai_prices.data as data

    call = Tokens(input=3, cache_read=10**9, cache_write=5, output=7, reasoning=7)
    models = [(m.id, p.id) for p in data.providers for m in p.models]
    charges = price_calls([make_call(model=m, provider=p, tokens=call) for m, p in models])
    known = [charge.cost_usd for charge in charges if charge.cost_usd is not None]
    assert len(known) > len(models) * 0.9
    assert all(cost >= 0 for cost in known)
