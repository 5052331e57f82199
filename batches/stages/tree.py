"""The run's own working tree, on the integration branch's tip."""

from pathlib import Path
from uuid import UUID

from batches import paths
from batches.context import RunContext
from batches.engine_setup import kind_of
from batches.engines import load
from batches.gates import catalog
from batches.integration import trees
from batches.integration.capture import snapshot
from batches.integration.merging import Conflict, merge_trees
from batches.sessions import earlier
from tasks.workspaces import git


def make_tree(context: RunContext) -> Path:
    """Finds the tree of a run that is already past this, makes it otherwise."""
    run = context.run
    if not context.place.isolated:
        return _workspace_itself(context)
    tree = paths.tree_dir(run.id)
    if run.agent_started or run.capture_commit:
        return tree
    with context.stage("tree"):
        context.scope.check()
        base = context.place.tip()
        trees.remove(tree)  # what a crash left half-made
        trees.create(
            context.place.store,
            tree_dir=tree,
            base=base,
            branch=f"codeframe/run-{run.short_id}",
        )
        expected = _gates_of(context, tree)
        continues = _lay_earlier_work(context, tree, base)
        context.save_later(base_commit=base, expected_gates=expected, continues=continues)
    return tree


def _lay_earlier_work(context: RunContext, tree: Path, base: str) -> UUID | None:
    """What the agent of the attempt before had changed, for it is told to go on.

    None begins anew: there is nothing to go on from, or it no longer fits what was integrated.
    """
    before = earlier(context.run, load(kind_of(context.batch)))
    if before is None:
        return None
    store = context.place.store
    if before.capture_commit and before.capture_commit != before.base_commit:
        merged = merge_trees(store, ours=base, theirs=before.capture_commit)
        if isinstance(merged, Conflict):
            return None
        trees.lay_over(store, tree_dir=tree, tree=merged.tree)
    return before.id


def discard_tree(context: RunContext) -> None:
    """Only what is captured whole is removed."""
    run = context.run
    if not context.place.isolated or run.tree_kept:
        return
    if run.capture_commit or not run.agent_started:
        trees.remove(paths.tree_dir(run.id))


def _workspace_itself(context: RunContext) -> Path:
    """Its state before the agent, uncommitted work included, is kept as a commit."""
    run = context.run
    tree = Path(context.batch.workspace.repo_path)
    if not run.base_commit:
        with context.stage("tree"):
            context.scope.check()
            store = context.place.store
            before = snapshot(store, message=f"Before: {run.title}")
            ref = f"refs/codeframe/before/{run.id}"
            git.publish(store, ref=ref, new=before.commit, old=git.resolve(store, ref))
            context.save_later(base_commit=before.commit, expected_gates=_gates_of(context, tree))
            last = earlier(
                run, load(kind_of(context.batch))
            )  # its work is in the workspace already
            context.save_later(continues=last.id if last else None)
    return tree


def _gates_of(context: RunContext, tree: Path) -> list[str]:
    """What the base asks for, so that deleting the tests does not do away with the gate."""
    if context.batch.gates != catalog.AUTO:
        return []
    return [gate.name for gate in catalog.select(catalog.AUTO, tree)]
