"""Batches conducted in this process, and questions to ask about them while they run and after."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from batches import lifecycle, paths
from batches.errors import InvalidState
from batches.jobs import execute_batch
from batches.models import Batch, Run
from batches.models.batch import StopMode
from tasks.events.types import FINAL_BATCH_EVENTS
from tasks.models import Event, Task, Workspace
from tests.factories import make_task
from tests.repos import git

DEADLINE_S = 120.0


class Conducting(threading.Thread):
    """`execute_batch` in a thread of its own; what it raises is raised again by `finish`."""

    def __init__(self, batch: Batch, **arguments: Any) -> None:
        super().__init__(name=f"batch {batch.short_id}")
        self.batch = batch
        self.claimed: bool | None = None
        self.error: BaseException | None = None
        self._arguments = arguments

    def run(self) -> None:
        try:
            self.claimed = execute_batch(self.batch.id, **self._arguments)
        except BaseException as error:
            self.error = error
        finally:
            connection.close()

    def finish(self) -> None:
        self.join(DEADLINE_S)
        assert not self.is_alive(), f"batch {self.batch.short_id} does not end"
        if self.error:
            raise self.error


@contextmanager
def conducting(batch: Batch, **arguments: Any) -> Iterator[Conducting]:
    """Ended when the block is; cancelled when the block fails, so that nothing runs on."""
    thread = Conducting(batch, **arguments)
    thread.start()
    try:
        yield thread
    except BaseException:
        _cancel(batch)
        raise
    finally:
        thread.finish()
        batch.refresh_from_db()


def _cancel(batch: Batch) -> None:
    try:
        lifecycle.cancel_batch(batch_id=batch.id)
    except InvalidState:
        return


def run_batch(batch: Batch, **arguments: Any) -> Batch:
    """To its end; gives it as it is then."""
    assert execute_batch(batch.id, **arguments)
    batch.refresh_from_db()
    return batch


def stop(batch: Batch, mode: StopMode = StopMode.CANCEL, reason: str = "") -> None:
    lifecycle.cancel_batch(batch_id=batch.id, mode=mode, reason=reason)


def wait_until(condition: Callable[[], object], what: str = "") -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"never came true: {what or condition}"
        time.sleep(0.02)


def conflicting(workspace: Workspace, folder: Path) -> tuple[Task, Task]:
    """Two tasks that change one line; the second integrates last (see `run_into_conflict`)."""
    started, go = folder / "second-started", folder / "second-may-end"
    first = make_task(workspace, "first", f"wait-file {started}", "write same.txt one")
    second = make_task(
        workspace, "second", f"touch {started}", f"wait-file {go}", "write same.txt two"
    )
    return first, second


def run_into_conflict(batch: Batch, first: Task, folder: Path) -> None:
    with conducting(batch):
        wait_until(lambda: task_status(first) == "DONE", "the first is integrated")
        (folder / "second-may-end").touch()


def last_run(task: Task, batch: Batch | None = None) -> Run:
    rows = Run.objects.filter(task=task, superseded=False)
    return (rows.filter(batch=batch) if batch else rows).latest("created_at")


def statuses(batch: Batch) -> dict[str, str]:
    rows = Run.objects.filter(batch=batch, superseded=False)
    return dict(rows.values_list("title", "status"))


def reasons(batch: Batch) -> dict[str, str]:
    return dict(Run.objects.filter(batch=batch, superseded=False).values_list("title", "reason"))


def counters(batch: Batch) -> dict[str, int]:
    """Those that are not zero."""
    names = ("completed", "failed", "blocked", "skipped", "cancelled")
    return {name: getattr(batch, name) for name in names if getattr(batch, name)}


def event_types(batch: Batch, *, prefix: str = "") -> list[str]:
    rows = Event.objects.filter(batch_id=batch.id, type__startswith=prefix).order_by("seq")
    return list(rows.values_list("type", flat=True))


def final_events(batch: Batch) -> list[str]:
    return [name for name in event_types(batch) if name in FINAL_BATCH_EVENTS]


def task_status(task: Task) -> str:
    return Task.objects.values_list("status", flat=True).get(id=task.id)


def lines(path: Path) -> list[str]:
    """None yet, when nobody wrote there."""
    return path.read_text().splitlines() if path.exists() else []


def repository(workspace: Workspace) -> Path:
    return Path(workspace.repo_path)


def kept(run: Run, name: str) -> str:
    """A file of what the run left, by its ref in the user's own repository."""
    return git(repository(run.batch.workspace), "show", f"refs/codeframe/runs/{run.id}:{name}")


def on_branch(batch: Batch, name: str) -> str:
    """A file of what was integrated."""
    return git(repository(batch.workspace), "show", f"{batch.branch}:{name}")


def marked_processes() -> list[int]:
    """Living processes of any run of this test process, by the marker in their environment."""
    marker = b"CODEFRAME_RUN_DIR=" + os.fsencode(paths.state_folder("runs").resolve())
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and marker in _environ(entry) and not _is_dead(entry):
            found.append(int(entry.name))
    return found


def _environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def _is_dead(process: Path) -> bool:
    try:
        return (process / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True
