"""Deleting what batches may still need: refused while they do, and history keeps the titles."""

from pathlib import Path

from django.conf import settings
from django.db import transaction

from batches.integration.removal import remove_folder
from batches.lifecycle import refuse_when_busy
from batches.models import Batch, Run
from batches.models.batch import ACTIVE
from batches.models.run import LIVE
from tasks import registry
from tasks.audit import audit
from tasks.errors import Conflict, NotFound
from tasks.models import Task, Workspace
from tasks.text import plural


def delete_task(*, task: Task) -> None:
    """Raises Conflict while a run of it is queued or under way. Dependents lose the dependency."""
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=task.workspace_id)
        if not Task.objects.filter(id=task.id).exists():
            raise NotFound("it is no longer there")
        live = Run.objects.filter(task=task, status__in=LIVE).select_related("batch").first()
        if live:
            raise Conflict(
                f"task {task.id.hex[:8]} is part of batch {live.batch.short_id}, which is "
                f"{live.batch.status}; cancel it first"
            )
        registry.remove_task(task=task)


def remove_workspace(*, workspace: Workspace, with_history: bool, by: str = "") -> None:
    """Forgets it, with what lies in the state folder; the repository and its refs stay.

    Raises WorkspaceBusy, and Conflict when there is history and `with_history` is not set.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)
        refuse_when_busy(workspace.id)
        ended = Batch.objects.filter(workspace=workspace).exclude(status__in=ACTIVE)
        folders = _folders(workspace)
        count = ended.count()
        if count and not with_history:
            raise Conflict(
                f"workspace {workspace.name} has a history ({plural(count, 'batch', 'batches')}); "
                "say --delete-history (in the API ?delete_history=true) to delete its records and "
                "the agents' output too (the repository and its refs stay)"
            )
        ended.delete()
        audit(by, "workspace.delete", workspace.name, {"path": workspace.repo_path})
        workspace.delete()
    # After the commit: files may take long, and rows must never point to what is gone.
    for folder in folders:
        remove_folder(folder)


def _folders(workspace: Workspace) -> list[Path]:
    """Everything of it in the state folder; not all need be there."""
    state = Path(settings.STATE_DIR)
    runs = Run.objects.filter(batch__workspace=workspace).values_list("id", flat=True)
    batches = Batch.objects.filter(workspace=workspace).values_list("id", flat=True)
    found = [state / kind / run_id.hex for run_id in runs for kind in ("runs", "trees")]
    found += [state / "validations" / batch_id.hex for batch_id in batches]
    found.append(state / "environments" / workspace.id.hex)
    return [*found, state / "stores" / f"{workspace.id.hex}.git"]
