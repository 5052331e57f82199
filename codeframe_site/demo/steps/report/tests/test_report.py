from pocketbook.entries import read_ledger
from pocketbook.report import render

LEDGER = ["2024-03-01 rent 1250", "2024-03-02 groceries 19.99", "2024-04-06 groceries 71.28"]

PAGE = """\
Spent
  in total  1341.27

By category
  rent       1250.00
  groceries    91.27

By month
  2024-03  1269.99
  2024-04    71.28
"""


def test_a_report_adds_up_by_category_and_by_month() -> None:
    assert render(read_ledger(LEDGER)) == PAGE


def test_an_empty_ledger_gives_a_total_of_nothing() -> None:
    assert render([]) == "Spent\n  in total  0.00\n"


def test_amounts_are_shown_as_the_caller_likes() -> None:
    assert "  in total  134127 cents\n" in render(read_ledger(LEDGER), show="{} cents".format)
