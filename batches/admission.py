"""What may become a batch: checked before anything is written, and again under the lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from batches.caps import refuse_caps_that_cannot_be_kept
from batches.configuration.effective import Effective, effective, merged
from batches.configuration.reading import ConfigInvalid
from batches.engine_setup import with_settings
from batches.engines import NAMED, UnknownEngineError, load
from batches.errors import InvalidOptions, InvalidTasks, NothingToRun
from batches.gates import catalog
from batches.keys import load_keys
from batches.models import CommandEngine
from batches.options import BOUNDS, BatchOptions
from batches.plan import FEW, dependency_edges
from tasks.errors import ValidationFailed
from tasks.models import Task, Workspace
from tasks.models.task import FINISHED, TaskStatus
from tasks.planning.graph import find_cycle
from tasks.workspaces.git import GitError
from tasks.workspaces.inspection import inspect
from tasks.workspaces.store import Repository

RUNNABLE = (TaskStatus.BACKLOG, TaskStatus.READY, TaskStatus.FAILED)
WHY_NOT = {
    TaskStatus.IN_PROGRESS: "is in progress already",
    TaskStatus.BLOCKED: "waits for an answer",
    TaskStatus.DONE: "is done",
    TaskStatus.MERGED: "is merged",
}
SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Admission:
    """`task_ids` None means every READY leaf of the workspace, as of the moment of `check`."""

    workspace_id: UUID
    options: BatchOptions
    task_ids: Sequence[UUID] | None = None
    base_branch: str = ""
    config: dict[str, Any] = field(default_factory=dict)

    def check(self) -> list[Task]:
        """The batch's tasks in the order of priority, then creation.

        Raises InvalidTasks or NothingToRun. Call it under the workspace's lock.
        """
        tasks = self._chosen()
        _refuse_unrunnable(tasks)
        edges = dependency_edges(task.id for task in tasks)
        _refuse_cycles(tasks, edges)
        _refuse_unmet(tasks, edges)
        return sorted(tasks, key=lambda task: (task.priority, task.created_at, task.id))

    def _chosen(self) -> list[Task]:
        fields = ("id", "title", "status", "priority", "created_at", "is_leaf")
        rows = Task.objects.filter(workspace_id=self.workspace_id).only(*fields)
        if self.task_ids is None:
            ready = list(rows.filter(status=TaskStatus.READY, is_leaf=True))
            if not ready:
                raise NothingToRun("no task of this workspace is READY")
            return ready
        wanted = dict.fromkeys(self.task_ids)
        if not wanted:
            raise NothingToRun("no task was named")
        if len(wanted) <= FEW:
            rows = rows.filter(id__in=list(wanted))
        found = {task.id: task for task in rows if task.id in wanted}
        missing = [str(task_id) for task_id in wanted if task_id not in found]
        if missing:
            raise InvalidTasks(f"no such task in this workspace: {_some(missing)}")
        return list(found.values())


def admit(
    *,
    workspace: Workspace,
    options: BatchOptions,
    task_ids: Sequence[UUID] | None = None,
) -> Admission:
    """Everything that needs the disk: repository, engine, gates. Nothing is written.

    Raises ValidationFailed or InvalidOptions, each with one sentence.
    """
    try:
        repository = inspect(Path(workspace.repo_path))
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    if repository.is_bare and options.isolation == "none":
        raise InvalidOptions("isolation: a bare repository has no tree to work in")
    config = _configuration(workspace, repository)
    options = _within_limits(options, config.values)
    _check_engine(options)
    _check_gates(options, workspace, merged(config.values["gates"], workspace.gates))
    refuse_caps_that_cannot_be_kept(options, workspace)
    return Admission(
        workspace_id=workspace.id,
        options=options,
        task_ids=task_ids,
        base_branch=repository.branch or "",
        config=config.as_json(),
    )


def engine_options(name: str) -> dict[str, Any]:
    """Of an engine by its name, as recorded in the batch. Raises InvalidOptions."""
    row = CommandEngine.objects.filter(name=name, enabled=True).first()
    if row is None and name in NAMED:
        return {"kind": name}
    if row is None:
        named = CommandEngine.objects.filter(enabled=True).values_list("name", flat=True)
        known = ", ".join(("command", *NAMED, *named))
        raise InvalidOptions(f"engine: there is no engine {name!r}; there are: {known}")
    return {"kind": "command", **row.options()}


def default_engine(workspace: Workspace) -> str:
    """What the configuration names, else the only one. Raises what `admit` raises."""
    try:
        repository = inspect(Path(workspace.repo_path))
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    return str(_configuration(workspace, repository).values["engine"] or only_engine())


def only_engine() -> str:
    """The name of the one that is set up. Raises InvalidOptions when there is a choice, or none."""
    names = list(CommandEngine.objects.filter(enabled=True).values_list("name", flat=True)[:2])
    if len(names) == 1:
        return names[0]
    raise InvalidOptions(
        "engine: say which, there are several" if names else "engine: none is set up yet"
    )


def _check_engine(options: BatchOptions) -> None:
    load_keys()
    kind = str(options.engine_options.get("kind", options.engine))
    try:
        engine = load(kind)
    except UnknownEngineError as error:
        raise InvalidOptions(f"engine: {error}") from error
    problem = engine.check(with_settings(kind, options.engine_options))
    if problem:
        raise InvalidOptions(f"engine: {problem.sentence}")


def _configuration(workspace: Workspace, repository: Repository) -> Effective:
    try:
        return effective(workspace, repository)
    except GitError as error:
        raise ValidationFailed(str(error)) from error
    except ConfigInvalid as error:
        raise ValidationFailed(f"the configuration of {workspace.name}: {error}") from error


def _within_limits(options: BatchOptions, values: Mapping[str, Any]) -> BatchOptions:
    """No limit (0) of a time becomes the one that the configuration sets."""
    changes: dict[str, Any] = {}
    for name in BOUNDS:
        limit, asked = values.get(f"limits.{name}"), getattr(options, name)
        endless = asked == 0 and name.endswith("_s")
        if limit is not None and (asked > limit or endless):
            changes[name] = limit
    return replace(options, **changes) if changes else options


def _check_gates(
    options: BatchOptions, workspace: Workspace, gates: Sequence[Mapping[str, Any]]
) -> None:
    """A name nobody knows would otherwise show only after the first agent was paid."""
    try:
        own = [catalog.workspace_gate(row) for row in gates]
        catalog.select(options.gates, Path(workspace.repo_path), own)
    except catalog.GateError as error:
        raise InvalidOptions(f"gates: {error}") from error


def _refuse_unrunnable(tasks: list[Task]) -> None:
    composite = [task.title for task in tasks if not task.is_leaf]
    if composite:
        raise InvalidTasks(f"made of sub-tasks, run those instead: {_some(composite)}")
    refused = [
        f"{task.title} {WHY_NOT[TaskStatus(task.status)]}"
        for task in tasks
        if task.status not in RUNNABLE
    ]
    if refused:
        raise InvalidTasks(f"cannot run: {_some(refused)}")


def _refuse_cycles(tasks: list[Task], edges: dict[UUID, list[UUID]]) -> None:
    inside = {task.id: list(edges.get(task.id, ())) for task in tasks}
    cycle = find_cycle(inside)
    if cycle:
        titles = {task.id: task.title for task in tasks}
        path = " -> ".join(titles[task_id] for task_id in cycle)
        raise InvalidTasks(f"dependencies form a cycle: {path}")


def _refuse_unmet(tasks: list[Task], edges: dict[UUID, list[UUID]]) -> None:
    inside = {task.id: task for task in tasks}
    outside = {d: t for t in inside for d in edges.get(t, ()) if d not in inside}
    unmet = Task.objects.filter(id__in=list(outside)).exclude(status__in=FINISHED)
    told = [
        f"{inside[outside[row.id]].title} needs {row.title}, which is {row.status}"
        for row in unmet.only("id", "title", "status")[: SHOWN + 1]
    ]
    if told:
        raise InvalidTasks(f"dependencies outside the batch are not done: {_some(told)}")


def _some(items: Sequence[str]) -> str:
    shown = ", ".join(items[:SHOWN])
    rest = len(items) - SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
