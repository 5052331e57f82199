"""One row each, with the least that makes it real."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from batches import lifecycle
from batches.admission import admit
from batches.models import Batch
from batches.options import BatchOptions
from tasks.models import Task, TaskDependency, Workspace
from tasks.models.task import TaskStatus
from tasks.workspaces.registry import add_workspace
from tests.fakes import AGENT
from tests.repos import make_repository


def make_workspace(tmp_path: Path, *, name: str = "repo", **extra: Any) -> Workspace:
    """A real repository with one commit, registered; gates are waived unless told otherwise."""
    files = extra.pop("files", {"README.md": "hello\n"})
    path = make_repository(tmp_path / name, files=files)
    extra.setdefault("gates_waived", True)
    return add_workspace(path=str(path), **extra)


def make_task(
    workspace: Workspace,
    title: str = "Do it",
    *directives: str,
    after: Sequence[Task] = (),
    status: TaskStatus = TaskStatus.READY,
    **extra: Any,
) -> Task:
    """`directives` script the agent: see tests/fakes/agent.py. None: it writes one file."""
    lines = directives or (f'write "{title}.txt" done',)
    description = "agent:\n" + "\n".join(lines) + "\n"
    task = Task.objects.create(
        workspace=workspace, title=title, description=description, status=status, **extra
    )
    for other in after:
        TaskDependency.objects.create(task=task, depends_on=other)
    return task


def options(**changes: Any) -> BatchOptions:
    """The scripted agent as the command engine."""
    chosen: dict[str, Any] = {
        "engine": "command",
        "engine_options": {"kind": "command", "argv": AGENT, "pass_env": []},
        "max_parallel": 2,
        "timeout_s": 60,
        "stall_timeout_s": 60,
    }
    return BatchOptions(**(chosen | changes))


def make_batch(
    workspace: Workspace, tasks: Sequence[Task] | None = None, *, send: bool = False, **changes: Any
) -> Batch:
    admission = admit(
        workspace=workspace,
        options=options(**changes),
        task_ids=None if tasks is None else [task.id for task in tasks],
    )
    return lifecycle.create_batch(admission=admission, origin="test", send=send)
