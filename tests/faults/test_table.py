"""The committed table of cells, which the matrix writes, holds no failure."""

import pytest

from tests.faults import table
from tests.faults.points import POINTS
from tests.faults.victims import VICTIMS

DATABASES = ("sqlite", "postgresql")
CELLS = {(victim.name, point.name) for victim in VICTIMS for point in victim.points}
GOOD = {"went on", "taken over", "repeated"}


def cells(database: str) -> dict[tuple[str, str], str]:
    columns = table.read(table.PAGE.read_text(), database)
    return {
        (victim, point): outcome
        for victim, outcomes in columns.items()
        for point, outcome in outcomes.items()
        if outcome != table.NOT_THERE
    }


@pytest.mark.parametrize("database", DATABASES)
def test_every_cell_was_run_and_none_failed(database: str) -> None:
    found = cells(database)
    assert set(found) == CELLS
    assert {cell: outcome for cell, outcome in found.items() if outcome not in GOOD} == {}


def test_the_table_is_no_small_one() -> None:
    assert sum(len(cells(database)) for database in DATABASES) >= 60


def test_every_point_and_process_is_explained() -> None:
    page = table.PAGE.read_text()
    assert [v.name for v in VICTIMS if f"`{v.name}`" not in page] == []
    assert [p.name for p in POINTS if f"`{p.name}` {p.says}" not in page] == []
