"""The captured change goes onto the batch's integration branch, without a working tree."""

from batches.context import RunContext, StageFailed
from batches.integration import merging
from batches.models.run import RunStatus
from batches.reasons import Reason
from batches.results import RunResult, ended
from batches.stages.capture import Change
from tasks.workspaces import git

TRIES = 5


def integrate_change(context: RunContext, change: Change) -> None:
    """Raises StageFailed (BLOCKED, the files named) on a conflict; nothing is dirty then."""
    if not context.place.isolated or not change.changed:
        return
    with context.stage("integrate"), context.place.integrating:
        context.scope.check()
        if not _was_integrated(context):
            _integrate(context, change)


def _was_integrated(context: RunContext) -> bool:
    """A crash may have come after the branch moved and before our rows said so."""
    commit = context.run.integrated_commit
    return bool(commit) and git.is_ancestor(
        context.place.store, ancestor=commit, descendant=context.place.tip()
    )


def _integrate(context: RunContext, change: Change) -> None:
    for _ in range(TRIES):
        tip = context.place.tip()
        prepared = merging.prepare(
            context.place.store,
            tip=tip,
            base=change.base,
            capture=change.commit,
            message=context.run.title,
            trailers=context.trailers() | {"Codeframe-Capture": change.commit},
        )
        if isinstance(prepared, merging.Conflict):
            raise StageFailed(_conflict(prepared))
        context.save(integrated_commit=prepared.commit)
        if prepared.is_empty:
            return
        try:
            context.place.advance(new=prepared.commit, old=tip)
        except git.RefMoved:
            continue  # someone else moved our branch: merge again, onto what is there now
        return
    raise git.GitError(f"{context.batch.branch} keeps moving; nothing was integrated.")


def _conflict(conflict: merging.Conflict) -> RunResult:
    files = ", ".join(path.decode("utf-8", "backslashreplace") for path in conflict.files)
    return ended(
        RunStatus.BLOCKED,
        Reason.CONFLICT,
        f"conflicts with work that was integrated first, in {files}. Resume the batch to do the "
        "task again on top of it; the change so far is kept.",
    )
