from datetime import date
from pathlib import Path

import pytest
from pocketbook.entries import BadLine, Entry, parse_entry, read_ledger

EXAMPLE = Path(__file__).parent.parent / "examples" / "spring.txt"


def test_a_line_holds_a_day_a_category_an_amount_and_a_note() -> None:
    entry = parse_entry("2024-03-02 groceries 19.99 weekly shop\n")
    assert entry == Entry(date(2024, 3, 2), "groceries", 1999, "weekly shop")


def test_the_note_may_be_left_out() -> None:
    assert parse_entry("2024-03-03 transport 4.35") == Entry(date(2024, 3, 3), "transport", 435)


def test_blank_lines_and_comments_are_skipped() -> None:
    assert read_ledger(["# March\n", "\n", "2024-03-01 rent 1250\n"]) == [
        Entry(date(2024, 3, 1), "rent", 125000)
    ]


@pytest.mark.parametrize("line", ["2024-03-01 rent", "2024-02-30 rent 1", "2024-03-01 rent much"])
def test_a_bad_line_is_named_by_its_number(line: str) -> None:
    with pytest.raises(BadLine, match=r"^line 2: "):
        read_ledger(["# March", line])


def test_the_example_can_be_read() -> None:
    with EXAMPLE.open() as lines:
        assert len(read_ledger(lines)) == 8
