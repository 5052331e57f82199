"""The API under load: what /health and a list of 50 tasks take, alone and beside everything else.

A real web process and a real worker. Under load, a batch runs whose agents print at full speed,
100 clients send a byte at a time, 100 read a few bytes at a time, and 40 requests wait.
"""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from batches import lifecycle
from batches.models import Batch
from codeframe_site.models import Scope
from codeframe_site.tokens import make_token
from tasks.models import Workspace
from tests.bench.http_clients import Answers, Site, crowd
from tests.bench.report import Row, show
from tests.bench.rows import bench_workspace, make_batch, make_tasks
from tests.codeframe_site.server_process import eventually
from tests.faults.world import database_url

LIST = "/api/v2/tasks?limit=50"
SECONDS = 6.0
SLOW = 100
WAITING = 40
AGENTS = 2
PRINTS = ("sh", "-c", "yes a line of output as agents print it")
ORIGINAL = {
    ("/health", 20): {"p50 ms": 12.0},
    (LIST, 1): {"p50 ms": 21.0},
    (LIST, 20): {"p50 ms": 338.0, "per second": "31-57"},
}
"""Measured of the older system, with its own server and 50 tasks on a page."""


def run() -> list[Row]:
    with bench_workspace() as workspace, ExitStack() as stack:
        make_tasks(workspace, 200, [(n, n + 1) for n in range(0, 199, 2)])
        user = User.objects.create_superuser("bench")
        _, key = make_token(user=user, name="bench", scope=Scope.WRITE)
        folder = Path(settings.STATE_DIR) / "load"
        folder.mkdir()
        pid, log = stack.enter_context(_process(folder, "web", "--port", "0"))
        eventually(lambda: _port(log), "the server says where it is")
        site = Site(_port(log), key)
        stack.enter_context(_process(folder, "worker"))
        stack.callback(_end_batches)
        return asyncio.run(_measure(site, pid, workspace))


async def _measure(site: Site, pid: int, workspace: Workspace) -> list[Row]:
    paths = [(path, clients) for path in ("/health", "/bare", LIST) for clients in (1, 20)]
    rows = [await _quick(site, pid, path, clients) for path, clients in paths]
    show("One client and twenty that ask again at once, nothing else", rows)
    idle = await site.hammer("/health", clients=1, seconds=SECONDS, pause_s=0.02)
    batch, paths = await asyncio.to_thread(_noisy_batch, workspace)
    loaded, others = await _under_load(site, batch, paths)
    show("Every other endpoint under load", others)
    return [
        _row("/health, nothing else", idle),
        _row("/health under load", loaded) | {"p99 to idle": loaded.p99_ms / idle.p99_ms},
    ]


async def _quick(site: Site, pid: int, path: str, clients: int) -> Row:
    await site.hammer(path, clients=clients, seconds=1)
    before = _cpu_s(pid)
    answers = await site.hammer(path, clients=clients, seconds=SECONDS)
    assert not answers.others, answers.others
    original = ORIGINAL.get((path, clients), {})
    return _row(path, answers) | {
        "clients": clients,
        "per second": answers.per_second,
        "server's CPU ms": (_cpu_s(pid) - before) * 1000 / len(answers.seconds),
        "older p50 ms": original.get("p50 ms", "-"),
        "older per second": original.get("per second", "-"),
        "load": round(os.getloadavg()[0], 1),
    }


async def _under_load(site: Site, batch: Batch, paths: list[str]) -> tuple[Answers, list[Row]]:
    stop = f"/api/v2/batches/{batch.id}/stop"
    slow = [site.send_slowly(LIST) for _ in range(SLOW)]
    slow += [site.read_slowly(LIST) for _ in range(SLOW)]
    waiting = [site.wait(stop) for _ in range(WAITING)]
    async with crowd(*slow, *waiting):
        await asyncio.sleep(3)
        answers = await site.hammer("/health", clients=1, seconds=2 * SECONDS, pause_s=0.02)
        others = [await _each(site, path) for path in paths]
    return answers, others


async def _each(site: Site, path: str) -> Row:
    answers = await site.hammer(path, clients=1, seconds=1.0)
    assert answers.seconds, (path, answers.others)
    assert not answers.others, (path, answers.others)
    return _row(path.split("?")[0].replace("/api/v2/", ""), answers)


def _paths(batch: Batch) -> list[str]:
    run = batch.runs.order_by("position")[0]
    names = [
        "workspaces",
        "tasks?limit=50",
        f"tasks/{run.task_id}",
        f"tasks/{run.task_id}/run",
        "tasks/assignment-status",
        "batches",
        f"batches/{batch.id}",
        f"batches/{batch.id}/runs",
        f"runs/{run.id}",
        f"runs/{run.id}/output?limit=65536",
        "blockers",
        "events?after=0",
        "schedule",
        "schedule/predict",
        "schedule/bottlenecks",
        "costs/summary",
        "costs/tasks",
        "costs/by-agent",
    ]
    return [f"/api/v2/{name}" for name in names]


def _noisy_batch(workspace: Workspace) -> tuple[Batch, list[str]]:
    batch = make_batch(workspace, PRINTS, max_parallel=AGENTS)
    printing = batch.runs.filter(status="RUNNING", output_bytes__gt=0)
    eventually(lambda: printing.count() == AGENTS, "the agents print")
    paths = _paths(batch)
    connection.close()
    return batch, paths


def _end_batches() -> None:
    """While the worker is still there to end their agents, whatever went wrong."""
    active = Batch.objects.filter(finished_at__isnull=True)
    for batch in active:
        lifecycle.cancel_batch(batch_id=batch.id)
    eventually(lambda: not active.exists(), "the agents have ended")


def _row(what: str, answers: Answers) -> Row:
    return {"what": what, "p50 ms": answers.p50_ms, "p99 ms": answers.p99_ms}


@contextmanager
def _process(folder: Path, *words: str) -> Iterator[tuple[int, Path]]:
    """A command of ours, to be ended with its block; gives its id and its log."""
    more = {"DATABASE_URL": database_url(), "CODEFRAME_RATE_READ": "1000000/min"}
    more |= {"CODEFRAME_RATE_WRITE": "1000000/min", "PYTHONUNBUFFERED": "1"}
    if words[0] == "web":
        more["DJANGO_SETTINGS_MODULE"] = "tests.bench.load_site"
    log = folder / f"{words[0]}.log"
    with log.open("wb") as file:
        command: Any = [sys.executable, "manage.py", *words]
        process = subprocess.Popen(command, env=os.environ | more, stdout=file, stderr=file)
    try:
        yield process.pid, log
    finally:
        connection.close()
        process.terminate()
        process.wait()


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _port(log: Path) -> int:
    found = re.search(rb"127\.0\.0\.1:(\d+)/", log.read_bytes())
    return int(found[1]) if found else 0
