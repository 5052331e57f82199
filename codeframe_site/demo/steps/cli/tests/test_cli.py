from pathlib import Path

import pytest
from pocketbook.__main__ import main

EXAMPLE = str(Path(__file__).parent.parent / "examples" / "spring.txt")


def test_it_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([EXAMPLE, "--symbol", "€"]) == 0
    page = capsys.readouterr().out
    assert "in total  2,692.22 €" in page
    assert "2024-04  1,359.28 €" in page


def test_it_warns_and_says_so_by_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([EXAMPLE, "--limit", "groceries=100", "--limit", "rent=3000"]) == 1
    assert capsys.readouterr().out.endswith("\n! groceries is 49.87 over its limit of 100.00\n")


def test_a_bad_ledger_is_one_line_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "ledger.txt"
    ledger.write_text("yesterday tea 2\n")
    assert main([str(ledger)]) == 2
    assert capsys.readouterr().err.startswith("pocketbook: line 1: ")
