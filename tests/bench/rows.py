"""Workspaces and many tasks, made quickly and outside of what is measured."""

import random
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from batches import lifecycle
from batches.admission import admit
from batches.models import Batch
from batches.options import BatchOptions
from tasks.models import Task, TaskDependency, Workspace
from tasks.models.task import TaskStatus
from tasks.workspaces.registry import add_workspace
from tests.repos import make_repository

Edges = Iterable[tuple[int, int]]
FILES = {f"part{n // 10}/file{n}.py": f"VALUE = {n}\n" * 40 for n in range(100)}


@contextmanager
def bench_workspace() -> Iterator[Workspace]:
    """A repository of a hundred files in ten folders."""
    with tempfile.TemporaryDirectory(prefix="codeframe-bench-repository-") as folder:
        path = make_repository(Path(folder) / "repository", FILES)
        yield add_workspace(path=str(path), name=f"bench-{uuid.uuid4().hex[:8]}")


def make_tasks(
    workspace: Workspace, count: int, edges: Edges = (), *, expects_changes: bool = False
) -> None:
    """`edges` are (task, the one it depends on) by number; READY, in the order of numbers."""
    tasks = [
        Task(
            workspace=workspace,
            title=f"task {number}",
            status=TaskStatus.READY,
            priority=number,
            expects_changes=expects_changes,
        )
        for number in range(count)
    ]
    Task.objects.bulk_create(tasks, batch_size=1000)
    TaskDependency.objects.bulk_create(
        (TaskDependency(task=tasks[task], depends_on=tasks[other]) for task, other in edges),
        batch_size=1000,
    )


def make_batch(
    workspace: Workspace, argv: Iterable[str] = ("true",), *, max_parallel: int = 1
) -> Batch:
    """All of the workspace's tasks; the engine is a command, and gates are waived."""
    options = BatchOptions(
        engine="command",
        engine_options={"kind": "command", "argv": list(argv), "pass_env": []},
        max_parallel=max_parallel,
        gates="none",
    )
    admission = admit(workspace=workspace, options=options)
    return lifecycle.create_batch(admission=admission, origin="bench")


def chain(count: int) -> Edges:
    """In the worst order: each waits for the one made after it."""
    return [(number, number + 1) for number in range(count - 1)]


def graph(count: int) -> Edges:
    """Three earlier tasks each, the same ones every time."""
    rng = random.Random(count)
    return [
        (number, other)
        for number in range(count)
        for other in sorted(rng.sample(range(number), min(3, number)))
    ]


def star(count: int) -> Edges:
    """One, then all but two, then one."""
    last = count - 1
    middle = range(1, last)
    return [*((number, 0) for number in middle), *((last, number) for number in middle)]
