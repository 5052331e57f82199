"""Approving tasks: BACKLOG to READY, and perhaps straight into a batch, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction

from batches import lifecycle
from batches.admission import admit
from batches.errors import InvalidTasks
from batches.models import Batch
from batches.options import BatchOptions
from tasks.events.log import record
from tasks.lifecycle import shift_tasks
from tasks.models import Task, Workspace
from tasks.models.task import TaskStatus


@dataclass(frozen=True, kw_only=True)
class Approval:
    approved: list[UUID]
    excluded: list[UUID]
    batch: Batch | None


def approve_tasks(
    *,
    workspace: Workspace,
    only: Sequence[UUID] | None = None,
    excluded: Sequence[UUID] = (),
    start: BatchOptions | None = None,
    by: str = "",
) -> Approval:
    """Leaves in BACKLOG, all of them or `only` some. With `start` they run as a batch.

    A batch that cannot start approves nothing. Raises WorkspaceBusy, InvalidTasks and what
    `admit` raises.
    """
    # What needs the disk comes before the lock.
    admission = admit(workspace=workspace, options=start) if start is not None else None
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        if admission is not None:
            lifecycle.refuse_when_busy(workspace.id)
        waiting = _waiting(workspace)
        chosen = _chosen(waiting, only, excluded)
        record(
            workspace_id=workspace.id,
            events=shift_tasks(task_ids=chosen, to=TaskStatus.READY, why="approved"),
        )
        batch = None
        if admission is not None and chosen:
            batch = lifecycle.create_batch(
                admission=replace(admission, task_ids=chosen), origin="approve", created_by=by
            )
    left = [task_id for task_id in waiting if task_id not in set(chosen)]
    return Approval(approved=chosen, excluded=left, batch=batch)


def _waiting(workspace: Workspace) -> list[UUID]:
    rows = Task.objects.filter(workspace=workspace, status=TaskStatus.BACKLOG, is_leaf=True)
    return list(rows.values_list("id", flat=True))


def _chosen(
    waiting: Sequence[UUID], only: Sequence[UUID] | None, excluded: Sequence[UUID]
) -> list[UUID]:
    unknown = set(only or excluded) - set(waiting)
    if unknown:
        names = ", ".join(sorted(str(task_id) for task_id in unknown)[:20])
        raise InvalidTasks(f"not leaf tasks in BACKLOG: {names}")
    if only is not None:
        return list(dict.fromkeys(only))
    return [task_id for task_id in waiting if task_id not in set(excluded)]
