"""One cell of the matrix: a workspace with a batch that waits at a point; then what must hold."""

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from batches import lifecycle, paths
from batches.admission import admit
from batches.models import Batch, Run, Stage
from batches.models.batch import ACTIVE
from batches.models.run import LIVE
from tasks.events import types
from tasks.models import Event, Task, Workspace
from tasks.models.task import TaskStatus
from tasks.workspaces.registry import add_workspace
from tests.factories import make_task, options
from tests.faults import agent
from tests.faults.world import World
from tests.repos import git, make_repository

LONG_S = 600
"""More than any test waits, on the slowest machine."""
AGENT = [sys.executable, "-I", "-S", agent.__file__]


@dataclass(kw_only=True)
class Cell:
    world: World
    name: str
    workspace: Workspace
    tasks: list[Task]
    batch: Batch
    repeats: int = 0
    ended_after_s: float = 0.0
    held: Path | None = None
    began: Path | None = None

    def __str__(self) -> str:
        self.batch.refresh_from_db()
        runs = self.batch.runs.values_list("title", "attempt", "status", "stage")
        return f"{self.name}: {self.batch.status}, owner {self.batch.lease_owner!r}, {list(runs)}"

    # -- facts -----------------------------------------------------------------------------------

    @property
    def repository(self) -> Path:
        return Path(self.workspace.repo_path)

    def starts(self, task: Task) -> list[str]:
        """A line per start of its engine."""
        notes = self.world.notes / f"{task.id}.starts"
        return notes.read_text().splitlines() if notes.exists() else []

    def hold(self, what: str) -> None:
        """The first task's agent, or the gate, stays at work until `let_work`; or nothing."""
        task = self.tasks[0].id
        names = {
            "agent": (f"{task}.hold", f"{task}.starts"),
            "gate": (f"{self.name}.gate", f"{self.name}.gate-began"),
        }
        if what:
            self.held, self.began = (self.world.notes / name for name in names[what])
            self.held.touch()

    def at_work(self) -> bool:
        """What is held has begun."""
        return self.began is not None and self.began.exists()

    def let_work(self) -> None:
        if self.held:
            self.held.unlink()

    def ended(self) -> bool:
        self.batch.refresh_from_db()
        return not self.batch.is_active

    def taken_over(self) -> int:
        return Event.objects.filter(batch_id=self.batch.id, type=types.BATCH_TAKEN_OVER).count()

    def owner(self) -> int:
        """The process that holds the lease."""
        self.batch.refresh_from_db()
        return int(self.batch.lease_owner.split("|")[2])

    def outcome(self) -> str:
        """What a kill meant for the first task, in words."""
        if len(self.starts(self.tasks[0])) > 1:
            return "repeated"
        return "taken over" if self.taken_over() else "went on"

    # -- what must hold --------------------------------------------------------------------------

    def problems(self) -> list[str]:
        return [*self._row_problems(), *self._work_problems(), *self._event_problems()]

    def _row_problems(self) -> Iterator[str]:
        batch = self.batch
        if (batch.status, batch.landing) != ("COMPLETED", "landed"):
            yield f"ended {batch.status}, landing {batch.landing!r}: {batch.message} {self._said()}"
        if batch.completed != len(self.tasks):
            yield f"counts {batch.completed} completed runs"
        if Run.objects.filter(batch=batch, status__in=LIVE).exists():
            yield "has a live run"
        if Stage.objects.filter(run__batch=batch, ended_at=None).exists():
            yield "has an open stage"
        moved = set(Task.objects.filter(workspace=self.workspace).values_list("status", flat=True))
        if moved != {TaskStatus.MERGED}:
            yield f"has tasks in {sorted(moved)}"

    def _said(self) -> str:
        rows = Run.objects.filter(batch=self.batch).values_list("status", "reason", "message")
        return "; ".join(" ".join(row) for row in rows)

    def _work_problems(self) -> Iterator[str]:
        started = [len(self.starts(task)) for task in self.tasks]
        if started != [1 + self.repeats, *([1] * (len(self.tasks) - 1))]:
            yield f"started the engine {started} times"
        for task in self.tasks:
            if not (self.repository / f"{task.id}.txt").is_file():
                yield "lost a task's file"
        merged = git(self.repository, "log", "--format=%(trailers:key=Codeframe-Task,valueonly)")
        ids = [line for line in merged.splitlines() if line]
        if sorted(ids) != sorted(str(task.id) for task in self.tasks):
            yield f"integrated {len(ids)} changes"
        if dirt := git(self.repository, "status", "--porcelain"):
            yield f"left the checkout dirty: {dirt}"
        made = [self.batch.id, *Run.objects.filter(batch=self.batch).values_list("id", flat=True)]
        if left := [tree for tree in map(paths.tree_dir, made) if tree.exists()]:
            yield f"left {len(left)} trees"

    def _event_problems(self) -> Iterator[str]:
        events = Event.objects.filter(workspace=self.workspace)
        final = events.filter(batch_id=self.batch.id, type__in=types.FINAL_BATCH_EVENTS).count()
        if final != 1:
            yield f"has {final} final events"
        seqs = list(events.order_by("seq").values_list("seq", flat=True))
        if seqs != list(range(1, len(seqs) + 1)):
            yield "has a gap in its events"


def make_repositories(folder: Path, names: Sequence[str]) -> list[Path]:
    """One is made, the others are copies."""
    first = make_repository(folder / names[0], {"README.md": "hello\n"})
    for name in names[1:]:
        shutil.copytree(first, folder / name)
    return [folder / name for name in names]


def make_cell(world: World, repository: Path, name: str, *, repeats: int = 0) -> Cell:
    """Two dependent tasks; nothing is started yet. `repeats`: of the first one's engine."""
    workspace = add_workspace(path=str(repository), name=name, gates=[_gate(world, name)])
    first = make_task(workspace, "first", "print nothing")
    tasks = [first, make_task(workspace, "second", "print nothing", after=[first])]
    return Cell(
        world=world,
        name=name,
        workspace=workspace,
        tasks=tasks,
        batch=Batch(),
        repeats=repeats,
    )


def _gate(world: World, name: str) -> dict[str, object]:
    file = f"{world.notes}/{name}.gate"
    script = f"touch '{file}-began'; while test -e '{file}'; do sleep 0.05; done"
    return {"name": "wait", "argv": ["sh", "-c", script], "timeout_s": LONG_S}


def send(cell: Cell, **changes: object) -> None:
    cell.batch = make_batch(cell.world, cell.workspace, cell.tasks, **changes)


def make_batch(world: World, workspace: Workspace, tasks: list[Task], **changes: object) -> Batch:
    argv = [*AGENT, str(world.notes)]
    engine = {"kind": "command", "argv": argv, "pass_env": []}
    times = {"timeout_s": LONG_S, "stall_timeout_s": LONG_S}
    chosen = options(engine_options=engine, **times, **changes)
    admission = admit(workspace=workspace, options=chosen, task_ids=[task.id for task in tasks])
    return lifecycle.create_batch(admission=admission, origin="test", send=True)


def wait_until_ended(world: World, cells: list[Cell], *, since: float, seconds: float) -> None:
    """Notes of each when it ended."""
    waiting = {cell.batch.id: cell for cell in cells}

    def all_ended() -> bool:
        rows = Batch.objects.filter(id__in=waiting, status__in=ACTIVE)
        for batch_id in waiting.keys() - set(rows.values_list("id", flat=True)):
            cell = waiting.pop(batch_id)
            cell.ended_after_s = time.monotonic() - since
            cell.batch.refresh_from_db()
        return not waiting

    try:
        world.wait_for(all_ended, "every batch ends", seconds=seconds)
    except AssertionError as error:
        left = [str(cell) for cell in waiting.values()]
        raise AssertionError(f"{left}\n{error}") from None
