"""Messages that come twice, and queue processes that are killed while they have nothing to do."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django_q.models import OrmQ

from tasks import queue
from tests.faults import host
from tests.faults.cells import Cell, make_cell, make_repositories, send, wait_until_ended
from tests.faults.world import World

pytestmark = [
    pytest.mark.faults,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
    pytest.mark.skipif(not host.ON_LINUX, reason="finds processes in /proc"),
]
Worlds = Callable[..., World]
BATCHES = 10


def test_however_often_a_batch_is_delivered_its_engine_starts_once(
    make_world: Worlds, tmp_path: Path
) -> None:
    world = make_world()
    world.start()
    world.start_another()
    [repository] = make_repositories(tmp_path / "r", ["twice"])
    cell = make_cell(world, repository, "twice")
    cell.hold("agent")
    send(cell)
    for _ in range(4):
        queue.send_batch(cell.batch.id)
    world.wait_for(lambda: cell.starts(cell.tasks[0]), "the agent is at work")
    for _ in range(4):
        queue.send_batch(cell.batch.id)
    world.wait_for(lambda: not OrmQ.objects.exists(), "every message is taken")
    cell.let_work()
    wait_until_ended(world, [cell], since=0, seconds=60)
    assert cell.problems() == []
    assert cell.taken_over() == 0


@pytest.mark.parametrize("roles", [("worker",), ("monitor", "pusher")], ids="+".join)
def test_batches_run_after_idle_processes_of_the_queue_were_killed(
    roles: tuple[str, ...],
    make_world: Worlds,
    tmp_path: Path,
    record_property: Callable[..., None],
) -> None:
    """One of the idle workers holds the lock of the queue, and takes it along."""
    world = make_world()
    world.start()
    world.wait_for(lambda: len(world.role("worker")) == 4, "the queue's workers are there")
    names = [f"after-{number}" for number in range(BATCHES)]
    cells = [
        make_cell(world, repository, name)
        for name, repository in zip(names, make_repositories(tmp_path / "r", names), strict=True)
    ]

    host.kill(*[pid for role in roles for pid in world.role(role)])
    began = time.monotonic()
    for cell in cells:
        send(cell)
    wait_until_ended(world, cells, since=began, seconds=90)
    assert {cell.name: cell.problems() for cell in cells if cell.problems()} == {}
    record_property("first", round(min(cell.ended_after_s for cell in cells), 1))
    record_property("last", round(max(cell.ended_after_s for cell in cells), 1))


def _was_taken_over(cell: Cell, times: int) -> bool:
    return cell.taken_over() == times


def test_an_owner_that_is_killed_five_times_never_starts_an_engine_twice(
    make_world: Worlds, tmp_path: Path, record_property: Callable[..., None]
) -> None:
    world = make_world()
    world.start()
    [repository] = make_repositories(tmp_path / "r", ["owner"])
    cell = make_cell(world, repository, "owner")
    cell.hold("agent")
    send(cell)
    world.wait_for(lambda: cell.starts(cell.tasks[0]), "the agent is at work")
    gaps = []
    for kills in range(1, 6):
        host.kill(cell.owner())
        killed_at = time.monotonic()
        world.wait_for(partial(_was_taken_over, cell, kills), "the next owner has it")
        gaps.append(round(time.monotonic() - killed_at, 1))
        assert cell.starts(cell.tasks[1]) == []
    cell.let_work()
    wait_until_ended(world, [cell], since=0, seconds=60)
    assert cell.problems() == []
    record_property("taken over after", gaps)


def test_a_run_that_is_lost_again_and_again_ends_and_its_successor_never_starts(
    make_world: Worlds, tmp_path: Path
) -> None:
    world = make_world(CODEFRAME_TEST_BACKOFF="0.2")
    world.start()
    [repository] = make_repositories(tmp_path / "r", ["lost"])
    cell = make_cell(world, repository, "lost")
    cell.hold("agent")
    send(cell)

    def ended_under_fire() -> bool:
        host.kill(*host.supervised(world.state), *host.supervisors(world.state))
        return cell.ended()

    world.wait_for(ended_under_fire, "the batch ends")
    statuses = set(cell.batch.runs.filter(superseded=False).values_list("title", "status"))
    assert (cell.batch.status, statuses) == ("FAILED", {("first", "LOST"), ("second", "SKIPPED")})
    assert cell.batch.runs.filter(title="first").count() == 4
    assert cell.starts(cell.tasks[1]) == []
