from pocketbook.entries import read_ledger
from pocketbook.months import by_month


def test_amounts_of_a_month_are_added_up() -> None:
    entries = read_ledger(["2024-03-01 rent 1250", "2024-03-31 tea 2.40", "2024-04-01 rent 1250"])
    assert by_month(entries) == {"2024-03": 125240, "2024-04": 125000}


def test_months_come_in_the_order_of_the_calendar() -> None:
    entries = read_ledger(["2024-02-01 tea 1", "2023-12-01 tea 1", "2024-01-01 tea 1"])
    assert list(by_month(entries)) == ["2023-12", "2024-01", "2024-02"]
