from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from costs import pauses
from costs.models import ProviderPause

pytestmark = pytest.mark.django_db


def seconds(pause: ProviderPause) -> float:
    return (pause.until - timezone.now()).total_seconds()


def test_a_time_that_was_given_is_kept() -> None:
    until = timezone.now() + timedelta(hours=3)
    assert pauses.pause("p", until=until).until == until
    assert set(pauses.current(["p", "q"])) == {"p"}
    assert pauses.current(["q"]) == {}


@pytest.mark.parametrize(
    "until", [None, datetime(1970, 1, 2, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)]
)
def test_without_a_time_that_can_be_it_waits_longer_each_time(until: datetime | None) -> None:
    assert 25 < seconds(pauses.pause("p", until=until)) <= 30
    for longest in (60, 120, 240, 480, 900, 900, 900):
        pauses.lift("p")
        found = seconds(pauses.pause("p", until=until))
        assert longest - 5 < found <= longest


def test_limits_long_apart_are_not_in_a_row() -> None:
    pauses.pause("p")
    ProviderPause.objects.update(until=timezone.now() - timedelta(hours=1))
    assert pauses.pause("p").strikes == 1


def test_runs_that_meet_one_limit_together_make_one_pause() -> None:
    late = timezone.now() + timedelta(minutes=9)
    pauses.pause("p", until=late)
    again = pauses.pause("p", until=timezone.now() + timedelta(minutes=2))
    assert (again.until, again.strikes) == (late, 1)
    assert ProviderPause.objects.count() == 1


def test_a_time_just_gone_is_not_now() -> None:
    assert 0 < seconds(pauses.pause("p", until=timezone.now() - timedelta(seconds=3))) <= 1
