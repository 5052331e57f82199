import pytest
from pocketbook.money import to_cents


@pytest.mark.parametrize("text", ["", "twelve", "1,50", "nan", "1e3", "0.333"])
def test_what_is_no_amount_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="not an amount"):
        to_cents(text)
