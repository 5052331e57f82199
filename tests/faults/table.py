"""The cells and their outcomes, kept in docs/reliability.md between two comments per database."""

import fcntl
from collections.abc import Mapping
from pathlib import Path

from tests.faults.points import POINTS
from tests.faults.victims import VICTIMS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
FAILED = "FAILED"
NOT_RUN = "not run"
NOT_THERE = "–"
Columns = dict[str, dict[str, str]]


def read(page: str, database: str) -> Columns:
    """Victim -> point -> outcome."""
    head, *rows = _section(page, database).strip().splitlines() or [""]
    victims = _cells(head)[1:]
    columns: Columns = {victim: {} for victim in victims}
    for row in rows[1:]:
        point, *outcomes = _cells(row)
        point = point.split("`")[1]
        for victim, outcome in zip(victims, outcomes, strict=True):
            columns[victim][point] = outcome
    return columns


def write_column(*, database: str, victim: str, outcomes: Mapping[str, str]) -> None:
    """In place. Locked: rounds may run in two processes at once."""
    with PAGE.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        page = file.read()
        columns = read(page, database) | {victim: dict(outcomes)}
        old, new = _section(page, database), _render(columns)
        file.seek(0)
        file.truncate()
        file.write(page.replace(f"{_begin(database)}{old}", f"{_begin(database)}{new}"))


def _render(columns: Columns) -> str:
    names = [victim.name for victim in VICTIMS]
    lines = [["point", *names], ["---"] * (len(names) + 1)]
    for point in POINTS:
        lines.append(
            [
                f"`{point.name}` {point.says}",
                *(_outcome(columns, v.name, point.name) for v in VICTIMS),
            ]
        )
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _outcome(columns: Columns, victim: str, point: str) -> str:
    applies = {v.name: {p.name for p in v.points} for v in VICTIMS}[victim]
    if point not in applies:
        return NOT_THERE
    return columns.get(victim, {}).get(point, NOT_RUN).replace("|", "/").replace("\n", " ")


def _section(page: str, database: str) -> str:
    _, _, rest = page.partition(_begin(database))
    section, end, _ = rest.partition(f"<!-- {database} ends -->")
    assert end, f"{PAGE.name} has no place for {database}"
    return section


def _begin(database: str) -> str:
    return f"<!-- {database} begins -->\n"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]
