"""Counted over all processes, without a query for most requests."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from codeframe_site import rates
from codeframe_site.models import RateCount

pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self) -> None:
        self.now = 2_000_000_040.0

    def time(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    rates.forget()
    clock = Clock()
    monkeypatch.setattr(rates, "time", clock)
    return clock


def ask(limit: int, key: str = "ada") -> float:
    return rates.wait_s(key, limit=limit, duration_s=60)


def in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this one counted by itself is not there."""
    monkeypatch.setattr(rates, "_seen", {})


def test_the_allowance_and_not_one_more() -> None:
    assert [ask(3) for _ in range(3)] == [0.0] * 3
    assert 1 <= ask(3) <= 60
    assert ask(3, "bob") == 0.0


def test_it_comes_back_bit_by_bit(clock: Clock) -> None:
    assert [ask(60) for _ in range(60)] == [0.0] * 60
    clock.now += 60
    assert ask(60) > 0
    clock.now += 30
    answers = [ask(60) for _ in range(60)]
    assert answers.count(0.0) == 30
    clock.now += 120
    assert ask(60) == 0.0


def test_the_wait_it_tells_is_enough(clock: Clock) -> None:
    for _ in range(10):
        ask(10)
    clock.now += 65
    while not (wait := ask(10)):
        pass
    clock.now += wait
    assert ask(10) == 0.0


def test_processes_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each learns of the others with its first attempt."""
    allowed = 0
    for _ in range(30):
        in_another_process(monkeypatch)
        allowed += ask(10) == 0.0 and ask(10) == 0.0
    assert allowed <= 10


def test_a_large_allowance_costs_a_query_now_and_then() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for _ in range(3000):
            assert ask(6000) == 0.0
    assert len([q for q in queries if "INSERT" in q["sql"]]) == 3000 // 30
    assert RateCount.objects.get().count == 3000


def test_rows_that_say_nothing_any_more_go(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(10)
    RateCount.objects.update(until="2001-01-01T00:00:00Z")
    monkeypatch.setattr(rates, "PURGE_SHARE", 1.0)
    ask(10, "bob")
    assert RateCount.objects.count() == 1


def test_many_names_do_not_fill_the_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_SEEN", 50)
    for number in range(200):
        rates.wait_s(f"name {number}", limit=1000, duration_s=60)
        clock.now += 3
    assert len(rates._seen) <= 100


def test_half_a_character_in_a_name_is_a_name_too() -> None:
    assert ask(10, "\ud800") == 0.0


def test_names_are_not_kept(settings: Any) -> None:
    ask(10, "login 10.0.0.1 ada@example.org")
    assert "ada" not in str(RateCount.objects.values_list())
