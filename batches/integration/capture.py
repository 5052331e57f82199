"""What a run left behind, as a commit that nothing later can take away."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from batches.integration.agent_refs import preserve_agent_refs
from batches.integration.changes import Change, list_changes
from batches.integration.commits import CODEFRAME, Author, commit_tree
from batches.integration.staging import (
    Staging,
    Uncaptured,
    list_newly_hidden,
    stage,
)
from batches.integration.trees import private_index
from tasks.workspaces.git import (
    DiskFull,
    GitError,
    RefMoved,
    RefUpdate,
    RepositoryGone,
    Store,
    list_refs,
    update_refs,
)
from tasks.workspaces.gitcall import speaking_of

PREFIX = "refs/codeframe/runs/"
REPLACED = "refs/codeframe/replaced/"


@dataclass(frozen=True, kw_only=True)
class Capture:
    """`commit` is the base itself when nothing changed; `ref` is then None.

    `uncaptured` is work that no commit holds. `hidden` is what ignore rules hide that the run
    itself wrote: work, or just what ought to be ignored.
    """

    commit: str
    tree: str
    ref: str | None
    changes: tuple[Change, ...]
    uncaptured: tuple[Uncaptured, ...]
    hidden: tuple[bytes, ...]
    agent_refs: Mapping[str, str]
    agent_refs_problem: str | None = None

    @property
    def changed(self) -> bool:
        return bool(self.changes)

    @property
    def complete(self) -> bool:
        """Everything in the tree is held by a ref: the tree may be removed."""
        return not (self.uncaptured or self.hidden or self.agent_refs_problem)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    commit: str
    tree: str
    uncaptured: tuple[Uncaptured, ...]


def capture(
    store: Store,
    *,
    tree_dir: Path,
    base: str,
    run_id: str,
    message: str,
    author: Author = CODEFRAME,
    trailers: Mapping[str, str] | None = None,
) -> Capture:
    """Commit the tree's files on `base` under refs/codeframe/runs/<run_id>.

    The tree's own git directory is not used: the agent may have written anything there, or
    deleted it. Safe to call again. Raises GitError.
    """
    if tree_dir.is_symlink() or not tree_dir.is_dir():
        raise RepositoryGone(f"{tree_dir}: the tree is gone.")
    index = store.scratch_file("capture-index")
    staging = Staging(git_dir=store.raw, work_tree=tree_dir, index=index)
    try:
        with speaking_of(tree_dir):
            tree = _stage_from(staging, private_index(tree_dir), base)
        changes = tuple(list_changes(store, base=base, commit=tree))
        hidden = list_newly_hidden(staging, [change.path for change in changes])
    finally:
        index.unlink(missing_ok=True)
    commit, ref = base, None
    if changes:
        commit = commit_tree(
            store, tree=tree, parents=[base], message=message, author=author, trailers=trailers
        )
        ref = f"{PREFIX}{run_id}"
        commit = _keep(store, ref, commit, run_id)
    agent_refs, problem = preserve_agent_refs(store, tree_dir=tree_dir, base=base, run_id=run_id)
    return Capture(
        commit=commit,
        tree=tree,
        ref=ref,
        changes=changes,
        uncaptured=tuple(staging.uncaptured),
        hidden=tuple(hidden),
        agent_refs=agent_refs,
        agent_refs_problem=problem,
    )


def _stage_from(staging: Staging, known: Path, base: str) -> str:
    """Start from what we wrote, so that only touched files are read again.

    copy2 keeps the index's own time, by which git tells files written in the same tick. Without
    that index, or when it is damaged, every file is read.
    """
    try:
        shutil.copy2(known, staging.index)
        return stage(staging)
    except (DiskFull, RepositoryGone):
        raise
    except (FileNotFoundError, GitError):
        staging.uncaptured.clear()
        staging.index.unlink(missing_ok=True)
        staging.git("read-tree", base)
        return stage(staging)


def _keep(store: Store, ref: str, commit: str, run_id: str) -> str:
    """Name the commit; an earlier, different capture of the same run is kept beside it."""
    try:
        update_refs(store, [RefUpdate(ref=ref, new=commit, old=None)])
    except RefMoved:
        earlier = list_refs(store, ref).get(ref)
        if earlier is None:
            raise
        if not list_changes(store, base=earlier, commit=commit):
            return earlier
        aside = f"{REPLACED}{run_id}/{earlier}"
        update_refs(
            store,
            [
                RefUpdate(ref=aside, new=earlier, old=None),
                RefUpdate(ref=ref, new=commit, old=earlier),
            ],
        )
    return commit


def snapshot(store: Store, *, message: str = "Snapshot of the working tree") -> Snapshot:
    """A commit of the user's own checkout as it is; its index, HEAD and files stay untouched.

    No ref names it: publish one when it must outlive a garbage collection.
    """
    repository = store.repository
    if repository.is_bare:
        raise GitError(f"{repository.path}: a bare repository has no working tree.")
    index = store.scratch_file("snapshot-index")
    staging = Staging(git_dir=store.plain, work_tree=repository.path, index=index)
    try:
        with speaking_of(repository.path):
            _seed_from_user(staging, repository.git_dir, repository.commit)
            tree = stage(staging)
    finally:
        index.unlink(missing_ok=True)
    commit = commit_tree(store, tree=tree, parents=[repository.commit], message=message)
    return Snapshot(commit=commit, tree=tree, uncaptured=tuple(staging.uncaptured))


def _seed_from_user(staging: Staging, git_dir: Path, commit: str) -> None:
    """Start from what the user's index knows of unchanged files; a split one cannot be copied."""
    if any(git_dir.glob("sharedindex.*")) or not (git_dir / "index").is_file():
        staging.git("read-tree", commit)
        return
    shutil.copy2(git_dir / "index", staging.index)
    tagged, _ = staging.git("ls-files", "-z", "-v")
    hidden = [row[2:] for row in tagged.split(b"\0") if row[:1].islower()]
    if hidden:
        staging.git(
            "update-index",
            "-z",
            "--no-assume-unchanged",
            "--stdin",
            input=b"".join(path + b"\0" for path in hidden),
        )


def capture_difference(
    store: Store,
    *,
    before: Snapshot,
    after: Snapshot,
    run_id: str,
    message: str,
    author: Author = CODEFRAME,
    trailers: Mapping[str, str] | None = None,
) -> Capture:
    """What happened in the user's checkout between two snapshots, as one commit and ref."""
    changes = tuple(list_changes(store, base=before.commit, commit=after.commit))
    commit, ref = before.commit, None
    if changes:
        commit = commit_tree(
            store,
            tree=after.tree,
            parents=[before.commit],
            message=message,
            author=author,
            trailers=trailers,
        )
        ref = f"{PREFIX}{run_id}"
        commit = _keep(store, ref, commit, run_id)
    return Capture(
        commit=commit,
        tree=after.tree,
        ref=ref,
        changes=changes,
        uncaptured=after.uncaptured,
        hidden=(),
        agent_refs={},
    )
