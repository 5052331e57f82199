"""The ledger on one page: a total, then categories, then months."""

from collections.abc import Callable, Mapping, Sequence

from .categories import by_category
from .entries import Entry
from .money import to_text
from .months import by_month


def render(entries: Sequence[Entry], show: Callable[[int], str] = to_text) -> str:
    sections = {
        "Spent": {"in total": sum(entry.cents for entry in entries)},
        "By category": by_category(entries),
        "By month": by_month(entries),
    }
    return "\n".join(table(title, rows, show) for title, rows in sections.items() if rows)


def table(title: str, rows: Mapping[str, int], show: Callable[[int], str]) -> str:
    amounts = [show(cents) for cents in rows.values()]
    left, right = max(map(len, rows)), max(map(len, amounts))
    lines = [
        f"  {name:<{left}}  {amount:>{right}}\n" for name, amount in zip(rows, amounts, strict=True)
    ]
    return f"{title}\n{''.join(lines)}"
