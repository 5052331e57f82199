import pytest
from pocketbook.money import to_cents, to_text


@pytest.mark.parametrize(
    ("text", "cents"), [("12.34", 1234), ("19.99", 1999), ("-5", -500), ("-0.29", -29)]
)
def test_an_amount_is_read_to_the_cent(text: str, cents: int) -> None:
    assert to_cents(text) == cents


def test_an_amount_survives_the_way_there_and_back() -> None:
    assert [to_cents(to_text(cents)) for cents in range(-300, 3000)] == list(range(-300, 3000))


def test_cents_are_written_with_two_digits() -> None:
    assert [to_text(5), to_text(-1999), to_text(120000)] == ["0.05", "-19.99", "1200.00"]
