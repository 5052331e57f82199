"""Rows in any status, and pictures of the whole database to compare."""

from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from batches.lease import Lease
from batches.models import Batch, Run
from batches.models.batch import ACTIVE, BatchStatus, StopMode
from batches.models.run import LIVE, RunStatus
from tasks.models import Event, EventCounter, Task, Workspace
from tasks.models.task import TaskStatus

OWNER = "this-test"
TASK_OF_RUN = {
    RunStatus.QUEUED: TaskStatus.READY,
    RunStatus.RUNNING: TaskStatus.IN_PROGRESS,
    RunStatus.COMPLETED: TaskStatus.DONE,
    RunStatus.FAILED: TaskStatus.FAILED,
    RunStatus.LOST: TaskStatus.FAILED,
    RunStatus.BLOCKED: TaskStatus.BLOCKED,
    RunStatus.SKIPPED: TaskStatus.READY,
    RunStatus.CANCELLED: TaskStatus.READY,
}


def make_workspace(name: str = "shop") -> Workspace:
    workspace = Workspace.objects.create(name=name, repo_path=f"/nowhere/{name}")
    EventCounter.objects.create(workspace=workspace)
    return workspace


def make_task(status: TaskStatus = TaskStatus.READY, *, workspace: Workspace | None = None) -> Task:
    return Task.objects.create(
        workspace=workspace or make_workspace(), title="Sell tea", status=status
    )


def make_batch(status: BatchStatus, *, leased: bool = True) -> Batch:
    """Owned by this test while it is active, unless `leased` is off."""
    now = timezone.now()
    active = status in ACTIVE
    owned = {"lease_owner": OWNER, "lease_expires_at": now + timedelta(hours=1), "fence": 1}
    return Batch.objects.create(
        workspace=make_workspace(),
        status=status,
        engine="command",
        gates="none",
        total=1,
        stop_mode=StopMode.STOP if status == BatchStatus.CANCELLING else "",
        finished_at=None if active else now,
        **(owned if active and leased else {}),
    )


def make_run(status: RunStatus, *, batch: Batch | None = None) -> Run:
    batch = batch or make_batch(BatchStatus.RUNNING)
    task = make_task(TASK_OF_RUN[status], workspace=batch.workspace)
    return Run.objects.create(
        batch=batch,
        task=task,
        title=task.title,
        position=batch.runs.count(),
        status=status,
        finished_at=None if status in LIVE else timezone.now(),
    )


def lease_of(batch: Batch) -> Lease:
    return Lease(batch_id=batch.id, workspace_id=batch.workspace_id, owner=OWNER, fence=1)


def picture() -> dict[str, list[tuple[Any, ...]]]:
    """Every row of our tables and of the queue."""
    tables = [
        model._meta.db_table
        for app in ("tasks", "batches", "django_q")
        for model in apps.get_app_config(app).get_models()
    ]
    with connection.cursor() as cursor:
        return {table: _rows_of(cursor, table) for table in tables}


def _rows_of(cursor: CursorWrapper, table: str) -> list[tuple[Any, ...]]:
    cursor.execute(f"SELECT * FROM {table}")
    return sorted(cursor.fetchall(), key=repr)


def events_since(seq: int) -> list[Event]:
    return list(Event.objects.filter(seq__gt=seq).order_by("seq"))


def last_seq(workspace: Workspace) -> int:
    return EventCounter.objects.get(workspace=workspace).seq


def make_events_impossible(workspace: Workspace) -> None:
    """The next numbers are taken, so that whoever records an event breaks its transaction."""
    last = last_seq(workspace)
    Event.objects.bulk_create(
        Event(workspace=workspace, seq=last + ahead, type="TAKEN") for ahead in range(1, 6)
    )
