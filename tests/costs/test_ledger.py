import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Sum
from pytest_django import DjangoAssertNumQueries

from costs.calls import Call
from costs.ledger import Account, record_calls
from costs.models import Spend, SpendScope, Usage
from costs.money import exact
from costs.pricing import Charge, price_calls
from costs.sums import recount_periods
from costs.tokens import Tokens
from tests.costs.charging import charge, make_call

pytestmark = pytest.mark.django_db


def an_account(**extra: Any) -> Account:
    given: dict[str, Any] = {"workspace_id": uuid4(), "batch_id": uuid4(), "run_id": uuid4()}
    return Account(**({"task_id": uuid4()} | given | extra))


def sum_of(scope: SpendScope, subject: UUID | None, period: str = "") -> Spend:
    return Spend.objects.get(scope=scope, subject_id=subject, period=period)


def test_a_call_that_is_told_twice_counts_once() -> None:
    account = an_account()
    call = Charge(call=make_call(call_id="c1"), cost_usd=Decimal(1))
    assert record_calls([call, call], account) == [call]
    assert record_calls([call], account) == []
    assert Usage.objects.count() == 1
    assert sum_of(SpendScope.RUN, account.run_id).usd == 1


def test_two_writers_at_once_cannot_both_count_a_call() -> None:
    account = an_account()
    charge(account, "1", call_id="c1")
    row = Usage.objects.get()
    row.pk = uuid4()
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": Tokens(input=-1)},
        {"tokens": Tokens(output=2**63)},
        {"calls": -1},
        {"reported_usd": Decimal(-1)},
        {"reported_usd": Decimal("NaN")},
        {"reported_usd": Decimal("Infinity")},
        {"reported_usd": Decimal(10**9)},
    ],
)
def test_counts_and_costs_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="c1"):
        make_call(call_id="c1", **wrong)


def test_the_running_sums_are_the_sums_of_the_ledger() -> None:
    """Over calls of several runs, days and months, priced and not, some told again."""
    chance = random.Random(7)
    workspace, zone = uuid4(), "Asia/Kathmandu"
    batches, tasks, runs = ([uuid4() for _ in range(3)] for _ in range(3))
    told: list[tuple[Account, Charge]] = []
    for _ in range(300):
        account = Account(
            workspace_id=workspace,
            time_zone=zone,
            batch_id=chance.choice(batches),
            run_id=chance.choice(runs),
            task_id=chance.choice([*tasks, None]),
        )
        at = datetime(2026, 1, 30, tzinfo=UTC) + timedelta(minutes=chance.randrange(6000))
        usd = chance.choice([None, Decimal("0.1"), Decimal("0.00000001"), Decimal("12345.67")])
        call = make_call(at=at, tokens=Tokens(input=chance.randrange(99), output=3))
        told.append((account, Charge(call=call, cost_usd=usd)))
    for account, charged in (*told, *told[::3]):
        record_calls([charged], account)
    assert Usage.objects.count() == 300
    for scope, column, ids in (
        (SpendScope.BATCH, "batch_id", batches),
        (SpendScope.RUN, "run_id", runs),
        (SpendScope.TASK, "task_id", tasks),
    ):
        for subject in ids:
            _same(sum_of(scope, subject), {column: subject})
    days = Spend.objects.filter(scope=SpendScope.DAY, subject_id=workspace)
    assert days.count() == 5
    assert sum(day.usd for day in days) == _total({"workspace_id": workspace})
    months = Spend.objects.filter(scope=SpendScope.MONTH, subject_id=workspace)
    assert {month.period for month in months} == {"2026-01", "2026-02"}
    assert sum(month.usd for month in months) == _total({"workspace_id": workspace})


def _same(kept: Spend, which: dict[str, Any]) -> None:
    rows = Usage.objects.filter(**which)
    assert kept.usd == _total(which)
    assert kept.calls == rows.count()
    assert kept.unpriced == rows.filter(cost_usd=None).count()
    assert kept.input_tokens == rows.aggregate(n=Sum("input_tokens"))["n"]


def _total(which: dict[str, Any]) -> Decimal:
    """Added here: SQLite's own sum is of floats."""
    costs = Usage.objects.filter(**which).values_list("cost_usd", flat=True)
    return exact(sum((cost for cost in costs if cost is not None), Decimal(0)))


def test_a_day_is_the_workspaces_day() -> None:
    at = datetime(2026, 3, 31, 22, 30, tzinfo=UTC)
    berlin = an_account(time_zone="Europe/Berlin")
    charge(berlin, "1", at=at)
    assert sum_of(SpendScope.DAY, berlin.workspace_id, "2026-04-01").usd == 1
    assert sum_of(SpendScope.MONTH, berlin.workspace_id, "2026-04").usd == 1
    utc = an_account()
    charge(utc, "1", at=at)
    assert sum_of(SpendScope.DAY, utc.workspace_id, "2026-03-31").usd == 1


def test_a_new_time_zone_moves_what_was_spent() -> None:
    account = an_account()
    charge(account, "1", at=datetime(2026, 3, 31, 22, 30, tzinfo=UTC))
    charge(account, "2", at=datetime(2026, 4, 1, 8, 0, tzinfo=UTC))
    since = datetime(2026, 1, 1, tzinfo=UTC).date()
    recount_periods(account.workspace_id, "Europe/Berlin", since=since)
    assert sum_of(SpendScope.DAY, account.workspace_id, "2026-04-01").usd == 3
    assert Spend.objects.filter(scope=SpendScope.DAY).count() == 1
    assert sum_of(SpendScope.RUN, account.run_id).usd == 3


def test_the_steps_of_a_record_do_not_grow_with_what_was_spent(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    account = an_account()
    for before in (1, 300):
        for _ in range(before):
            charge(account, "1")
        charged = Charge(call=make_call(), cost_usd=Decimal(1))
        with django_assert_num_queries(3):
            record_calls([charged], account)


def test_a_settling_row_makes_estimates_exact() -> None:
    account = an_account()
    first = make_call(model="claude-sonnet-4-5", estimated=True)
    record_calls(price_calls([first]), account)
    assert sum_of(SpendScope.RUN, account.run_id).estimated == 1
    record_calls(price_calls([_closing("claude-sonnet-4-5", "0.5")]), account)
    kept = sum_of(SpendScope.RUN, account.run_id)
    assert (kept.estimated, kept.unpriced, kept.calls) == (0, 0, 1)
    assert kept.usd == _total({"run_id": account.run_id})
    assert not Usage.objects.filter(estimated=True).exists()


def test_where_only_the_engine_knows_a_price_its_last_word_covers_all() -> None:
    account = an_account()
    record_calls(price_calls([make_call(model="own"), make_call(model="other")]), account)
    assert sum_of(SpendScope.BATCH, account.batch_id).unpriced == 2
    record_calls(price_calls([_closing("own", "0.5")]), account)
    kept = sum_of(SpendScope.BATCH, account.batch_id)
    assert (kept.usd, kept.unpriced) == (Decimal("0.5"), 1)


def _closing(model: str, usd: str) -> Call:
    return make_call(model=model, calls=0, settles=True, tokens=Tokens(), reported_usd=Decimal(usd))
