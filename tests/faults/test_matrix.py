"""kill -9 of each process at every boundary, many batches at once, each waiting at its own."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from tests.factories import make_task
from tests.faults import host, table
from tests.faults.cells import (
    Cell,
    make_batch,
    make_cell,
    make_repositories,
    send,
    wait_until_ended,
)
from tests.faults.victims import VICTIMS, Victim
from tests.faults.world import World

pytestmark = [
    pytest.mark.faults,
    # Two dozen conductors each: two such worlds at once want more connections than there are.
    pytest.mark.xdist_group("many batches at once"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not host.ON_LINUX, reason="finds processes in /proc"),
    pytest.mark.timeout(300),
]
RECOVERED_S = 120.0
Worlds = Callable[..., World]


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda victim: victim.name)
def test_after_kill_9_every_batch_ends_as_if_nothing_had_been(
    victim: Victim, make_world: Worlds, tmp_path: Path, record_property: Callable[..., None]
) -> None:
    began = time.monotonic()
    points = victim.points
    world = make_world(
        CODEFRAME_WORKERS=str(len(points) + 2),
        CODEFRAME_MAX_CONCURRENT_BATCHES=str(len(points) + 1),
        CODEFRAME_MAX_AGENTS=str(2 * len(points)),
    )
    world.start()
    cells = _waiting_cells(world, victim, tmp_path)
    held = [cell for cell in cells if cell.held]
    if victim.repeats:
        world.wait_for(lambda: all(cell.at_work() for cell in held), "agents and gates are there")
    waiting = [world.reached(cell.workspace, cell.name) for cell in cells]

    victims = victim.pids(world, waiting)
    assert victims, "nobody to kill"
    killed_at = time.monotonic()
    host.kill(*victims)
    world.keep_running()
    world.release()
    if victim.takes_over:
        world.wait_for(lambda: all(cell.taken_over() for cell in held), "every batch is adopted")
    detected = time.monotonic() - killed_at
    for cell in cells:
        cell.let_work()
    wait_until_ended(world, cells, since=killed_at, seconds=RECOVERED_S)
    recovered = max(cell.ended_after_s for cell in cells)

    outcomes = {cell.name: _outcome(cell) for cell in cells}
    table.write_column(database=connection.vendor, victim=victim.name, outcomes=outcomes)
    assert {n: o for n, o in outcomes.items() if o.startswith(table.FAILED)} == {}, world.tail()
    assert not (world.notes / "overlaps").exists()
    _take_another_batch(world, cells)
    assert world.stop() == 0
    world.wait_until_empty()
    record_property("cells", len(cells))
    record_property("waiting", round(killed_at - began, 1))
    record_property("detected", round(detected, 1))
    record_property("recovered", round(recovered, 1))
    record_property("round", round(time.monotonic() - began, 1))


def _waiting_cells(world: World, victim: Victim, folder: Path) -> list[Cell]:
    points = victim.points
    repositories = make_repositories(folder / "repositories", [point.name for point in points])
    cells = []
    for point, repository in zip(points, repositories, strict=True):
        repeats = int(point.alive in victim.repeats)
        cell = make_cell(world, repository, point.name, repeats=repeats)
        world.pause(cell.workspace, point.name)
        cell.hold(point.alive)
        # A gate that was killed has failed, which costs a retry; nothing else here does.
        send(cell, max_retries=int(point.alive == "gate" and repeats == 1))
        cells.append(cell)
    world.wait_for(
        lambda: all(world.reached(cell.workspace, cell.name) for cell in cells),
        "every batch waits at its point",
        seconds=120,
    )
    return cells


def _outcome(cell: Cell) -> str:
    problems = cell.problems()
    return f"{table.FAILED}: {'; '.join(problems)}" if problems else cell.outcome()


def _take_another_batch(world: World, cells: list[Cell]) -> None:
    for cell in cells:
        cell.tasks = [make_task(cell.workspace, "next")]
        cell.batch = make_batch(world, cell.workspace, cell.tasks)
    wait_until_ended(world, cells, since=time.monotonic(), seconds=RECOVERED_S)
    assert {
        cell.name: cell.batch.status for cell in cells if cell.batch.status != "COMPLETED"
    } == {}
