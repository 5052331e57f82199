"""Rows that need no repository."""

from batches.models.batch import BatchStatus
from tasks.models import Blocker, EventCounter, Workspace
from tasks.models.task import TaskStatus
from tests.codeframe_site.rows import batch_row, run_row, workspace_row
from tests.factories import make_task


def known_workspace(name: str = "shop") -> Workspace:
    """Its repository is nowhere; its events can be counted."""
    row = workspace_row(name)
    EventCounter.objects.create(workspace=row)
    return row


class World:
    """One row of everything, in a workspace named shop."""

    def __init__(self) -> None:
        self.shop = known_workspace("shop")
        task = make_task(self.shop, "a", status=TaskStatus.BLOCKED)
        batch = batch_row(self.shop, BatchStatus.PARTIAL)
        run = run_row(batch, task=task)
        blocker = Blocker.objects.create(task=task, reason="question", question="Which?")
        self.ids = {
            "workspace": self.shop.id,
            "task": task.id,
            "batch": batch.id,
            "run": run.id,
            "blocker": blocker.id,
        }
