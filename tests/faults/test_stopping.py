"""Stop means stop: of a worker, which lets agents live on, and of a batch, which does not."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from batches import lifecycle, paths
from batches.errors import WorkspaceBusy
from batches.models import Batch, Run
from tests.factories import make_batch as make_plain_batch
from tests.factories import make_task, make_workspace
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
STOPPED_S = 10.0


def _at_work(world: World, folder: Path) -> Cell:
    [repository] = make_repositories(folder / "r", ["stopping"])
    cell = make_cell(world, repository, "stopping")
    cell.hold("agent")
    send(cell)
    world.wait_for(lambda: cell.starts(cell.tasks[0]), "the agent is at work")
    return cell


def _signal_group(number: int) -> Callable[[World], None]:
    return lambda world: os.killpg(world.main.pid, number)


@pytest.mark.parametrize(
    ("stop", "released"),
    [
        pytest.param(lambda world: world.main.terminate(), True, id="SIGTERM"),
        pytest.param(_signal_group(signal.SIGINT), True, id="SIGINT to the group"),
        pytest.param(_signal_group(signal.SIGHUP), True, id="SIGHUP to the group"),
        # Django-Q2's sentinel dies of it at once: the lease is freed as its owner's death is seen.
        pytest.param(_signal_group(signal.SIGTERM), False, id="SIGTERM to the group"),
    ],
)
def test_a_worker_that_stops_leaves_its_agents_to_the_next(
    stop: Callable[[World], None],
    released: bool,
    make_world: Worlds,
    tmp_path: Path,
    record_property: Callable[..., None],
) -> None:
    world = make_world()
    world.start()
    cell = _at_work(world, tmp_path)
    agents = set(host.supervised(world.state))
    cluster = world.cluster()

    began = time.monotonic()
    stop(world)
    assert world.main.wait(timeout=STOPPED_S) == 0
    record_property("stopped", round(time.monotonic() - began, 1))
    host.wait_for(lambda: not any(map(host.is_alive, cluster)), "the cluster is gone", seconds=5)
    assert set(host.supervised(world.state)) == agents
    cell.batch.refresh_from_db()
    assert cell.batch.status == "RUNNING"
    assert cell.batch.lease_expires_at is None or not released

    world.start()
    world.wait_for(cell.taken_over, "the next worker has it")
    assert set(host.supervised(world.state)) == agents
    cell.let_work()
    wait_until_ended(world, [cell], since=0, seconds=60)
    assert cell.problems() == []


HIDING = (
    "spawn sleep 1000",
    "sh setsid sleep 1000 &",
    "sh nohup setsid sleep 1000 >/dev/null 2>&1 &",
    "trap-term",
    "touch $HIDDEN",
    "sleep 300",
)
PROCESSES = 4


def test_a_cancel_reaches_every_process_and_frees_the_workspace_only_then(
    make_world: Worlds, tmp_path: Path, record_property: Callable[..., None]
) -> None:
    world = make_world()
    world.start()
    workspace = make_workspace(tmp_path)
    hidden = tmp_path / "hidden"
    script = [line.replace("$HIDDEN", str(hidden)) for line in HIDING]
    task = make_task(workspace, "hides", *script)
    batch = make_plain_batch(workspace, [task], send=True)
    world.wait_for(hidden.exists, "the agent has hidden its children")
    world.wait_for(lambda: len(host.supervised(world.state)) == PROCESSES, "all of them are there")

    lifecycle.cancel_batch(batch_id=batch.id)
    began = time.monotonic()
    for left in _left_while_cancelling(world, batch):
        if left:
            with pytest.raises(WorkspaceBusy):
                make_plain_batch(workspace, [make_task(workspace, "next")])
    record_property("cancelled", round(time.monotonic() - began, 1))
    assert time.monotonic() - began < STOPPED_S
    assert host.supervised(world.state) == []
    batch.refresh_from_db()
    assert batch.status == "CANCELLED"
    make_plain_batch(workspace, [make_task(workspace, "next")])


def _left_while_cancelling(world: World, batch: Batch) -> Iterator[list[int]]:
    """The processes seen before each look at the status, so a freed workspace has none."""
    while True:
        left = host.supervised(world.state)
        batch.refresh_from_db()
        if not batch.is_active:
            return
        yield left
        time.sleep(0.05)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process
        process.kill()


def test_a_recycled_process_id_is_never_signalled(
    make_world: Worlds, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    world = make_world()
    world.start()
    cell = _at_work(world, tmp_path)
    host.kill(*world.cluster(), *host.supervisors(world.state), *host.supervised(world.state))
    run = Run.objects.get(batch=cell.batch, status="RUNNING")
    note_path = paths.agent_dir(run.id) / "process.json"
    note = json.loads(note_path.read_text())
    for name in ("supervisor", "agent"):
        note[name]["pid"] = bystander.pid
    note_path.write_text(json.dumps(note))
    cell.repeats = 1

    world.wait_for(lambda: len(cell.starts(cell.tasks[0])) == 2, "the run is tried again")
    cell.let_work()
    wait_until_ended(world, [cell], since=0, seconds=60)
    assert cell.problems() == []
    assert bystander.poll() is None
