import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.tokens import MOST, Tokens, from_json, of_totals, whole

COUNT = st.integers(0, MOST)
TOKENS = st.builds(Tokens, input=COUNT, cache_read=COUNT, cache_write=COUNT, output=COUNT)


@given(TOKENS, TOKENS)
def test_a_difference_is_never_negative_and_adds_up(one: Tokens, other: Tokens) -> None:
    assert one.plus(other).minus(other) == one
    assert min(one.minus(other).as_json().values(), default=0) >= 0


@given(TOKENS)
def test_json_keeps_every_count(tokens: Tokens) -> None:
    assert from_json(tokens.as_json()) == tokens


@given(COUNT, COUNT, COUNT)
def test_a_total_with_its_cache_is_split_without_loss(total: int, cached: int, output: int) -> None:
    tokens = of_totals(total_input=total, cached=cached, output=output)
    assert tokens.input + tokens.cache_read == max(total, cached)
    assert tokens.input >= 0


@pytest.mark.parametrize(
    "value", [-1, 1.5, 2**63, float("nan"), float("inf"), None, "7", True, [], {}, MOST + 1]
)
def test_what_is_no_count_is_none(value: object) -> None:
    """Case 68."""
    assert whole(value) is None


@pytest.mark.parametrize(("value", "count"), [(0, 0), (7, 7), (7.0, 7), (MOST, MOST)])
def test_what_is_a_count_is_kept(value: object, count: int) -> None:
    assert whole(value) == count


@pytest.mark.parametrize("note", [None, [], "x", {"input": "7"}, {"input": -1, "other": 3}])
def test_notes_that_are_damaged_are_as_nothing(note: object) -> None:
    assert from_json(note) == Tokens()
