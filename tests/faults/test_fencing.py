"""A worker that is frozen longer than its lease finds, when it thaws, that nothing is its own."""

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batches.models import Batch
from tasks.models import Event
from tests.faults import host
from tests.faults.cells import Cell, make_cell, make_repositories, send, wait_until_ended
from tests.faults.world import World
from tests.repos import git

pytestmark = [
    pytest.mark.faults,
    # Two dozen conductors each: two such worlds at once want more connections than there are.
    pytest.mark.xdist_group("many batches at once"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
    pytest.mark.skipif(not host.ON_LINUX, reason="finds processes in /proc"),
]
POINTS = (
    "started",
    "tree-end",
    "agent-output",
    "agent-ended",
    "capture-taken",
    "integrate-prepared",
    "integrate-moved",
    "finish-before",
    "validated",
    "final-before",
)


def test_another_owner_finishes_and_the_frozen_one_writes_nothing(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    workers = 2 * len(POINTS) + 2
    world = make_world(
        CODEFRAME_LEASE_SECONDS="6",
        CODEFRAME_HEARTBEAT_SECONDS="2",
        CODEFRAME_WORKERS=str(workers),
        CODEFRAME_MAX_CONCURRENT_BATCHES=str(workers - 1),
        CODEFRAME_MAX_AGENTS=str(workers),
    )
    world.start()
    cells = []
    for name, repository in zip(POINTS, make_repositories(tmp_path / "r", POINTS), strict=True):
        cell = make_cell(world, repository, name)
        world.pause(cell.workspace, name)
        send(cell)
        cells.append(cell)
    frozen = [
        world.wait_for(partial(world.reached, cell.workspace, cell.name), f"{cell.name} is reached")
        for cell in cells
    ]

    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    wait_until_ended(world, cells, since=0, seconds=60)
    problems = {cell.name: cell.problems() for cell in cells if cell.problems()}
    assert problems == {}
    assert [cell.name for cell in cells if not cell.taken_over()] == []

    before = [_everything(cell) for cell in cells]
    world.release()
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    world.wait_for(lambda: _left(world) >= len(cells), "each frozen owner says that it was fenced")
    assert [_everything(cell) for cell in cells] == before
    assert world.stop() == 0
    world.wait_until_empty()


def _left(world: World) -> int:
    said = ("was taken over", "has another owner")
    return sum(any(text in line for text in said) for line in world.log.read_text().splitlines())


def _everything(cell: Cell) -> dict[str, Any]:
    rows = Batch.objects.filter(id=cell.batch.id).values()[0]
    runs = list(cell.batch.runs.order_by("position", "attempt").values())
    last = Event.objects.filter(workspace=cell.workspace).latest("seq").seq
    refs = git(cell.repository, "for-each-ref")
    return {"batch": rows, "runs": runs, "last": last, "refs": refs}
