"""Rows as a batch leaves them, made at once and without running anything."""

from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

from django.utils import timezone

from batches.models import Batch, Finding, GateRecord, Run, Stage
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from tasks.models import Blocker, Event, Task, TaskDependency, Workspace
from tasks.models.task import TaskStatus


def workspace_row(name: str = "repo", **columns: Any) -> Workspace:
    """Its repository need not exist."""
    columns.setdefault("repo_path", f"/nowhere/{name}")
    return Workspace.objects.create(name=name, **columns)


def task_row(workspace: Workspace, title: str = "Do it", **columns: Any) -> Task:
    return Task.objects.create(workspace=workspace, title=title, **columns)


def batch_row(
    workspace: Workspace, status: BatchStatus = BatchStatus.COMPLETED, **columns: Any
) -> Batch:
    ended = status not in (BatchStatus.PENDING, BatchStatus.RUNNING, BatchStatus.CANCELLING)
    columns.setdefault("finished_at", timezone.now() if ended else None)
    columns.setdefault("started_at", timezone.now() - timedelta(seconds=90))
    return Batch.objects.create(workspace=workspace, status=status, engine="command", **columns)


def run_row(batch: Batch, status: RunStatus = RunStatus.COMPLETED, **columns: Any) -> Run:
    """With one ended stage, one gate, and an event."""
    live = status in (RunStatus.QUEUED, RunStatus.RUNNING)
    now = timezone.now()
    columns.setdefault("title", "Do it")
    columns.setdefault("position", 0)
    columns.setdefault("finished_at", None if live else now)
    columns.setdefault("started_at", None if status == RunStatus.QUEUED else now)
    run = Run.objects.create(batch=batch, status=status, **columns)
    add_history([run])
    return run


def add_history(runs: list[Run]) -> None:
    now = timezone.now()
    Stage.objects.bulk_create(
        Stage(run=run, name="agent", started_at=now, ended_at=now, outcome="ok") for run in runs
    )
    GateRecord.objects.bulk_create(
        GateRecord(batch=run.batch, run=run, name="pytest", outcome="passed", summary="3 passed")
        for run in runs
    )
    Finding.objects.bulk_create(
        Finding(run=run, rule="size", severity="warn", path="big.bin", message="large")
        for run in runs
    )
    Event.objects.bulk_create(
        Event(
            workspace_id=run.batch.workspace_id,
            seq=uuid4().int >> 66,
            type="RUN_STAGE",
            batch_id=run.batch_id,
            run_id=run.id,
            payload={"stage": "agent"},
        )
        for run in runs
    )


def many_tasks(workspace: Workspace, count: int, status: TaskStatus) -> list[Task]:
    """Each with an open question, and all but the first waiting for the one before it."""
    tasks = Task.objects.bulk_create(
        Task(workspace=workspace, title=f"{status} {n}", status=status) for n in range(count)
    )
    TaskDependency.objects.bulk_create(
        TaskDependency(task=task, depends_on=other) for other, task in pairwise(tasks)
    )
    Blocker.objects.bulk_create(
        Blocker(task=task, reason="conflict", question="Which?") for task in tasks
    )
    return tasks


def many_runs(batch: Batch, count: int, status: RunStatus = RunStatus.COMPLETED) -> list[Run]:
    now = timezone.now()
    runs = Run.objects.bulk_create(
        Run(
            batch=batch,
            title=f"Task {n}",
            position=n,
            status=status,
            started_at=now,
            finished_at=now,
        )
        for n in range(count)
    )
    add_history(runs)
    return runs
