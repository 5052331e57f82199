"""However the agent ended, what it left in its tree becomes a commit with a ref."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from batches.context import RunContext, StageFailed
from batches.integration import capture, changes
from batches.reasons import Reason
from batches.results import RunResult, failed, of_git_error
from tasks.events import types
from tasks.text import storable_json
from tasks.workspaces.git import GitError


@dataclass(frozen=True, kw_only=True)
class Change:
    """`commit` is the base itself when nothing changed; `paths` is None when it was taken before
    a crash."""

    base: str
    commit: str
    paths: Sequence[changes.Change] | None = None

    @property
    def changed(self) -> bool:
        return self.commit != self.base


def capture_work(context: RunContext, tree: Path) -> Change:
    """Raises StageFailed when it cannot be saved; the tree then stays where it is."""
    run = context.run
    if run.capture_commit:
        return Change(base=run.base_commit, commit=run.capture_commit)
    with context.stage("capture"):
        if not tree.is_dir():
            raise StageFailed(failed(Reason.TREE_LOST))
        try:
            taken = _take(context, tree)
        except GitError as error:
            context.save(tree_kept=True)
            raise StageFailed(_not_saved(context, tree, error)) from error
        _record(context, taken)
    return Change(base=run.base_commit, commit=taken.commit, paths=taken.changes)


def _not_saved(context: RunContext, tree: Path, error: GitError) -> RunResult:
    """Names the repository, not only our way into it, and where the work still is."""
    result = of_git_error(error, otherwise=Reason.CAPTURE_FAILED)
    repository = context.batch.workspace.repo_path
    message = f"{repository}: {result.message} The work is kept in {tree}."
    return replace(result, message=message)


def _take(context: RunContext, tree: Path) -> capture.Capture:
    run, store = context.run, context.place.store
    if context.place.isolated:
        return capture.capture(
            store,
            tree_dir=tree,
            base=run.base_commit,
            run_id=str(run.id),
            message=run.title,
            trailers=context.trailers(),
        )
    return capture.capture_difference(
        store,
        before=capture.Snapshot(commit=run.base_commit, tree="", uncaptured=()),
        after=capture.snapshot(store, message=f"After: {run.title}"),
        run_id=str(run.id),
        message=run.title,
        trailers=context.trailers(),
    )


def _record(context: RunContext, taken: capture.Capture) -> None:
    facts = {
        "capture_commit": taken.commit,
        "tree_kept": not taken.complete,
        "files_changed": len(taken.changes),
        "insertions": sum(change.added or 0 for change in taken.changes),
        "deletions": sum(change.deleted or 0 for change in taken.changes),
    }
    payload = {
        "commit": taken.commit,
        "files": facts["files_changed"],
        "insertions": facts["insertions"],
        "deletions": facts["deletions"],
        "uncaptured": storable_json([vars(item) for item in taken.uncaptured[:20]]),
        "agent_refs": storable_json(dict(taken.agent_refs)),
    }
    context.save_later(**facts)
    context.say_later(types.RUN_CAPTURED, payload)
