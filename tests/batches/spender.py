"""Attempts that spend: model calls of a known price are charged before the scripted agent runs."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

from batches.attempt import run_attempt
from batches.context import RunContext
from batches.models import Batch
from batches.results import RunResult
from costs.models import PriceOverride, Spend, SpendScope
from costs.pricing import price_calls
from costs.tokens import Tokens
from tests.costs.charging import make_call

MODEL = "tester"


def price_model(model: str = MODEL) -> None:
    """A dollar a million tokens of output."""
    PriceOverride.objects.create(
        model=model,
        input_usd=0,
        output_usd=1,
        valid_from=datetime(2020, 1, 1, tzinfo=UTC),
    )


def spending(usd: str, *, calls: int = 1, model: str = MODEL) -> Callable[[RunContext], RunResult]:
    """Each call costs `usd`; a stop is looked for between two calls, as an agent's death would."""
    tokens = Tokens(output=int(Decimal(usd) * 10**6))

    def attempt(context: RunContext) -> RunResult:
        for number in range(calls):
            if context.scope.asked():
                break
            name = f"{context.run.id}/{number}"
            call = make_call(call_id=name, model=model, tokens=tokens)
            context.charge_later(price_calls([call]))
            context.flush()
        return run_attempt(context)

    return attempt


def spent(batch: Batch) -> Decimal:
    return Spend.objects.get(scope=SpendScope.BATCH, subject_id=batch.id).usd
