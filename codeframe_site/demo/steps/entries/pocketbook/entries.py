"""The lines of a ledger: `DAY CATEGORY AMOUNT [NOTE]`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from .money import to_cents


class BadLine(ValueError):
    """A line that is not an entry; says which and why."""


@dataclass(frozen=True)
class Entry:
    day: date
    category: str
    cents: int
    note: str = ""


def parse_entry(line: str) -> Entry:
    words = line.split(maxsplit=3)
    if len(words) < 3:
        raise ValueError("expected DAY CATEGORY AMOUNT [NOTE]")
    day, category, amount, *note = words
    return Entry(date.fromisoformat(day), category, to_cents(amount), "".join(note).strip())


def read_ledger(lines: Iterable[str]) -> list[Entry]:
    """Skips blank lines and those that begin with #; raises BadLine."""
    entries = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            entries.append(parse_entry(line))
        except ValueError as problem:
            raise BadLine(f"line {number}: {problem}") from problem
    return entries
