from pocketbook.categories import by_category
from pocketbook.entries import read_ledger


def test_amounts_of_a_category_are_added_up_and_refunds_taken_off() -> None:
    entries = read_ledger(["2024-03-02 groceries 20.00", "2024-03-15 groceries -5.50"])
    assert by_category(entries) == {"groceries": 1450}


def test_the_dearest_category_comes_first_and_equals_go_by_name() -> None:
    entries = read_ledger(["2024-03-01 tea 2", "2024-03-01 rent 900", "2024-03-01 bus 2"])
    assert list(by_category(entries)) == ["rent", "bus", "tea"]


def test_an_empty_ledger_has_no_categories() -> None:
    assert by_category([]) == {}
