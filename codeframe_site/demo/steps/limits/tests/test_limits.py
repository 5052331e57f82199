import pytest
from pocketbook.limits import parse_limits, warnings


def test_a_limit_is_a_category_and_an_amount() -> None:
    assert parse_limits(["groceries=300", "tea=4.50"]) == {"groceries": 30000, "tea": 450}


@pytest.mark.parametrize("setting", ["groceries", "=300", "groceries=lots"])
def test_a_bad_limit_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=r"expected CATEGORY=AMOUNT|not an amount"):
        parse_limits([setting])


def test_only_what_is_over_its_limit_is_warned_of() -> None:
    totals = {"rent": 125000, "groceries": 30001, "tea": 450}
    limits = {"groceries": 30000, "tea": 450, "books": 1000}
    assert warnings(totals, limits) == ["groceries is 0.01 over its limit of 300.00"]
