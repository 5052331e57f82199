import pytest
from pocketbook.display import display


@pytest.mark.parametrize(
    ("cents", "text"),
    [(0, "0.00"), (99999, "999.99"), (125000, "1,250.00"), (-123456789, "-1,234,567.89")],
)
def test_thousands_are_set_apart(cents: int, text: str) -> None:
    assert display(cents) == text


def test_the_symbol_follows_the_amount() -> None:
    assert display(435, "€") == "4.35 €"
