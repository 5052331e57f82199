"""Deleting what batches may still need: refused while they do, and history keeps the titles."""

from django.db import transaction

from batches.lifecycle import refuse_when_busy
from batches.models import Batch, Run
from batches.models.batch import ACTIVE
from batches.models.run import LIVE
from tasks import registry
from tasks.errors import Conflict
from tasks.models import Task, Workspace


def delete_task(*, task: Task) -> None:
    """Raises Conflict while a run of it is queued or under way. Dependents lose the dependency."""
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=task.workspace_id)
        live = Run.objects.filter(task=task, status__in=LIVE).select_related("batch").first()
        if live:
            raise Conflict(
                f"task {task.id.hex[:8]} is part of batch {live.batch.short_id}, which is "
                f"{live.batch.status}; cancel it first"
            )
        registry.remove_task(task=task)


def remove_workspace(*, workspace: Workspace, with_history: bool) -> None:
    """Forgets it; the repository and every ref in it stay as they are.

    Raises WorkspaceBusy, and Conflict when there is history and `with_history` is not set.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        refuse_when_busy(workspace.id)
        ended = Batch.objects.filter(workspace=workspace).exclude(status__in=ACTIVE)
        count = ended.count()
        if count and not with_history:
            raise Conflict(
                f"workspace {workspace.name} has a history ({count} batches); say --delete-history "
                "to delete its records too (the repository and its refs stay)"
            )
        ended.delete()
        workspace.delete()
