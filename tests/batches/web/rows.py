"""Runs with a past, made without running anything."""

from datetime import datetime, timedelta
from typing import Any

from batches.models import Batch, Run
from batches.models.run import RunStatus
from tasks.models import Task


def past_run(
    batch: Batch,
    begin: datetime,
    start: float,
    end: float | None,
    *,
    task: Task | None = None,
    **columns: Any,
) -> Run:
    """Seconds from `begin`; without an end it runs."""
    status = RunStatus.RUNNING if end is None else RunStatus.COMPLETED
    columns.setdefault("status", status)
    columns.setdefault("position", Run.objects.filter(batch=batch).count())
    return Run.objects.create(
        batch=batch,
        task=task,
        title=task.title if task else "Do it",
        started_at=begin + timedelta(seconds=start),
        finished_at=None if end is None else begin + timedelta(seconds=end),
        **columns,
    )
