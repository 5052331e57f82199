"""A result that waits on its branch: how large it is, and the command that lands it by hand."""

from dataclasses import dataclass
from pathlib import Path

from batches import paths
from batches.integration.changes import list_changes
from batches.integration.landing import LANDED
from batches.models import Batch
from batches.models.batch import BatchStatus
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect

WITH_A_RESULT = (BatchStatus.COMPLETED, BatchStatus.PARTIAL)


@dataclass(frozen=True, kw_only=True)
class Held:
    """`problem` says why the size is unknown."""

    command: str
    files: int = 0
    added: int = 0
    deleted: int = 0
    problem: str = ""


def held_result(batch: Batch) -> Held | None:
    """None where nothing waits. Never raises for what may be wrong with the repository."""
    waits = batch.status in WITH_A_RESULT and batch.landing not in ("", LANDED)
    if not (waits and batch.integrated_commit and batch.integrated_commit != batch.base_commit):
        return None
    command = f"git merge {batch.branch}"
    try:
        store = git.open_store(
            paths.store_dir(batch.workspace_id), inspect(Path(batch.workspace.repo_path))
        )
        changes = list_changes(store, base=batch.base_commit, commit=batch.integrated_commit)
    except git.GitError as error:
        return Held(command=command, problem=str(error))
    return Held(
        command=command,
        files=len(changes),
        added=sum(change.added or 0 for change in changes),
        deleted=sum(change.deleted or 0 for change in changes),
    )
