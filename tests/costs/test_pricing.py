from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError

from costs.ledger import Call, record_calls, settle_run
from costs.models import Price, Usage
from costs.pricing import Priced, price
from costs.tokens import Tokens

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
TOKENS = Tokens(input=1000, cache_read=2000, cache_write=400, output=30)


def own(**changes: Any) -> Price:
    columns: dict[str, Any] = {
        "model": "house-1",
        "valid_from": date(2026, 1, 1),
        "input_usd": "2",
        "output_usd": "10",
    }
    return Price.objects.create(**(columns | changes))


def usd(model: str = "house-1", *, provider: str = "", at: datetime = NOW) -> Decimal | None:
    found = price(provider=provider, model=model, tokens=TOKENS, at=at)
    return found.usd if found else None


def test_the_list_prices_each_kind_of_token_apart() -> None:
    found = price(provider="anthropic", model="claude-sonnet-4-5", tokens=TOKENS, at=NOW)
    assert found
    assert found.usd == Decimal("0.003") + Decimal("0.0006") + Decimal("0.0015") + Decimal(
        "0.00045"
    )
    assert found.source == "genai-prices"
    assert found.version


@pytest.mark.parametrize("model", ["house-1", "", "x" * 200])
def test_an_unknown_model_has_no_price_which_is_not_zero(model: str) -> None:
    """Case 69."""
    assert usd(model) is None
    assert usd(model, provider="anthropic") is None


def test_a_provider_that_the_list_does_not_know_is_no_reason_to_know_nothing() -> None:
    assert usd("claude-sonnet-4-5", provider="somebody") == usd("claude-sonnet-4-5")


def test_an_own_price_wins_and_cached_tokens_cost_as_input_unless_said() -> None:
    own()
    assert usd() == Decimal("0.002") + Decimal("0.004") + Decimal("0.0008") + Decimal("0.0003")
    Price.objects.update(cache_read_usd="0.2", cache_write_usd="2.5")
    assert usd() == Decimal("0.002") + Decimal("0.0004") + Decimal("0.001") + Decimal("0.0003")


def test_an_own_price_of_zero_is_free_and_not_unpriced() -> None:
    own(input_usd="0", output_usd="0")
    assert usd() == 0


def test_the_newest_price_that_is_valid_counts() -> None:
    own()
    own(valid_from=date(2026, 6, 1), input_usd="3")
    own(valid_from=date(2026, 6, 2), input_usd="1000")
    found = price(provider="", model="house-1", tokens=Tokens(input=10**6), at=NOW)
    assert found == Priced(usd=Decimal(3), source="own price", version="2026-06-01")
    assert usd(at=datetime(2025, 12, 31, tzinfo=UTC)) is None


def test_a_price_of_one_provider_is_of_no_other() -> None:
    own(provider="aa", input_usd="7")
    assert usd(provider="bb") is None
    own(input_usd="1")
    for provider, dollars in (("aa", 7), ("bb", 1)):
        found = price(provider=provider, model="house-1", tokens=Tokens(input=10**6), at=NOW)
        assert found
        assert found.usd == dollars


def test_a_price_is_never_negative() -> None:
    with pytest.raises(IntegrityError):
        own(cache_read_usd="-1")


def call(**changes: Any) -> Call:
    fields: dict[str, Any] = {"call_id": uuid4().hex, "agent": "a", "model": "m", "at": NOW}
    return Call(**(fields | {"input_tokens": 10} | changes))


def test_a_total_makes_estimates_exact_and_stands_for_what_had_no_price() -> None:
    run, other = uuid4(), uuid4()
    told = call(estimated=True)
    total = call(
        calls=0, input_tokens=0, cost_usd=Decimal(1), reported_usd=Decimal(1), price_source="agent"
    )
    unknown = call(estimated=True, input_tokens=0, note="the agent did not tell")
    record_calls([told, unknown, total], workspace_id=uuid4(), run_id=run)
    record_calls([call(estimated=True)], workspace_id=uuid4(), run_id=other)
    settle_run(run)
    row = Usage.objects.get(call_id=told.call_id)
    assert (row.estimated, row.cost_usd, row.price_source) == (False, 0, "agent")
    assert Usage.objects.get(call_id=unknown.call_id).estimated
    left = Usage.objects.get(run_id=other)
    assert (left.estimated, left.cost_usd) == (True, None)


@pytest.mark.parametrize("field", ["cost_usd", "reported_usd"])
def test_dollars_are_never_negative(field: str) -> None:
    with pytest.raises(ValueError, match="never negative"):
        record_calls([call(**{field: Decimal(-1)})], workspace_id=uuid4())
