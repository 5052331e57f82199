"""How long a batch waits: from its commit to its agent, from a kill to the next owner, from a
cancel to the last process's end. With a real worker, alone on the machine but for this bench.

Redis carries the messages when CODEFRAME_REDIS_URL is set and requirements/redis.txt is installed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from django.conf import settings
from django.db import connection

from batches import lifecycle
from batches.models import Batch
from tasks.events import types
from tasks.models import Event, Workspace
from tests.bench.report import Row
from tests.factories import make_batch, make_task, make_workspace
from tests.faults.world import database_url

STARTS = 20
KILLS = 8
CANCELS = 8
PATIENCE_S = 90.0
POLL_S = 0.005


def run() -> list[Row]:
    folder = Path(settings.STATE_DIR) / "latency"
    folder.mkdir()
    workspace = make_workspace(folder)
    with _worker(folder):
        rows = [
            _row(
                "commit to the agent's first line",
                [_start(workspace, folder) for _ in range(STARTS)],
            ),
            _row(
                "kill -9 of the owner to the next", [_kill(workspace, folder) for _ in range(KILLS)]
            ),
            _row("cancel to CANCELLED", [_cancel(workspace, folder) for _ in range(CANCELS)]),
        ]
    return rows


def _row(what: str, seconds: list[float]) -> Row:
    return {
        "what": what,
        "queue": "redis" if settings.REDIS_URL else connection.vendor,
        "times": len(seconds),
        "median ms": median(seconds) * 1000,
        "max ms": max(seconds) * 1000,
    }


@contextmanager
def _worker(folder: Path) -> Iterator[None]:
    environment = os.environ | {"DATABASE_URL": database_url()}
    with (folder / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "worker"], env=environment, stdout=log, stderr=log
        )
    try:
        _until(lambda: b"ready" in (folder / "worker.log").read_bytes(), "the worker is ready")
        yield
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()


def _start(workspace: Workspace, folder: Path) -> float:
    began = folder / "began"
    began.unlink(missing_ok=True)
    make_task(workspace, f"start {time.monotonic_ns()}", f"touch {began}", expects_changes=False)
    sent = time.time()
    batch = make_batch(workspace, send=True)
    _until(began.exists, "the agent starts")
    _until(lambda: _ended(batch), "the batch ends")
    return began.stat().st_mtime - sent


def _kill(workspace: Workspace, folder: Path) -> float:
    """Until another owner has claimed the batch; the agent goes on meanwhile."""
    batch = _at_work(workspace, folder)
    pid = int(Batch.objects.get(id=batch.id).lease_owner.split("|")[2])
    killed = time.time()
    os.kill(pid, signal.SIGKILL)
    taken = Event.objects.filter(batch_id=batch.id, type=types.BATCH_TAKEN_OVER)
    _until(taken.exists, "another owner takes over")
    (folder / "go").touch()
    _until(lambda: _ended(batch), "the batch ends")
    return taken.get().created_at.timestamp() - killed


def _cancel(workspace: Workspace, folder: Path) -> float:
    """Of an agent that ends when it is told to."""
    batch = _at_work(workspace, folder)
    asked = time.monotonic()
    lifecycle.cancel_batch(batch_id=batch.id)
    _until(lambda: _ended(batch), "the batch is cancelled")
    return time.monotonic() - asked


def _at_work(workspace: Workspace, folder: Path) -> Batch:
    for name in ("began", "go"):
        (folder / name).unlink(missing_ok=True)
    make_task(
        workspace,
        f"work {time.monotonic_ns()}",
        f"touch {folder}/began",
        f"wait-file {folder}/go",
        expects_changes=False,
    )
    batch = make_batch(workspace, send=True)
    _until((folder / "began").exists, "the agent is at work")
    return batch


def _ended(batch: Batch) -> bool:
    return Batch.objects.filter(id=batch.id, finished_at__isnull=False).exists()


def _until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {PATIENCE_S:.0f} s: {what}")
        time.sleep(POLL_S)
