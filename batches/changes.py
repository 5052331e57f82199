"""What a run changed, for people: a patch out of the user's repository."""

from pathlib import Path

from batches import paths
from batches.integration.changes import diff_patch
from batches.models import Run
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect


class NothingCaptured(LookupError):
    """The run has no captured change (yet)."""


def patch_file(run: Run) -> Path:
    """A temporary file that the caller removes. Raises NothingCaptured and GitError."""
    if not run.capture_commit:
        raise NothingCaptured(f"run {run.short_id} has no captured change")
    repository = inspect(Path(run.batch.workspace.repo_path))
    store = git.open_store(paths.store_dir(run.batch.workspace_id), repository)
    target = store.scratch_file("patch")
    try:
        diff_patch(store, base=run.base_commit, commit=run.capture_commit, output=target)
    except git.GitError:
        target.unlink(missing_ok=True)
        raise
    return target
