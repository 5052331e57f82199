"""The batch's branch into the branch that the user works on; never over uncommitted work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from batches.integration.changes import list_changes
from batches.integration.checkouts import (
    CannotMove,
    Checkout,
    find,
    forget_dead_lock,
    locked_index,
    require_quiet,
)
from batches.integration.commits import CODEFRAME, Author, commit_tree
from batches.integration.merging import Conflict, merge_trees
from batches.integration.moving import Mover
from tasks.workspaces.git import HEADS, Locked, RefMoved, Store, is_ancestor, list_refs, publish
from tasks.workspaces.gitcall import speaking_of

LANDED = "landed"
CONFLICT = "conflict"
DIRTY = "dirty"
FILTERED = "filtered"
MOVED = "moved"
BRANCH_ONLY = "branch_only"
_TRIES = 4


@dataclass(frozen=True, kw_only=True)
class Landing:
    """`commit` is where the branch now is when it landed; else nothing was touched."""

    outcome: str
    commit: str | None = None
    files: tuple[bytes, ...] = ()
    detail: str = ""

    @property
    def landed(self) -> bool:
        return self.outcome == LANDED


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one try wants to do, from what it saw."""

    branch: str
    old: str
    new: str
    reason: str


def land(
    store: Store,
    *,
    branch: str | None,
    commit: str,
    message: str,
    author: Author = CODEFRAME,
    trailers: Mapping[str, str] | None = None,
) -> Landing:
    """Fast-forward the branch to `commit`, or merge. A killed call is completed by the next."""
    if branch is None:
        return Landing(outcome=BRANCH_ONLY, detail="The repository was not on a branch.")
    with speaking_of(store.repository.path):
        return _land(store, branch, commit, message, author, trailers)


def _land(
    store: Store,
    branch: str,
    commit: str,
    message: str,
    author: Author,
    trailers: Mapping[str, str] | None,
) -> Landing:
    for _ in range(_TRIES):
        tip = _tip(store, branch)
        if tip is None:
            return Landing(outcome=BRANCH_ONLY, detail=f"The branch {branch} does not exist.")
        checkouts = find(store.repository, branch)
        if is_ancestor(store, ancestor=commit, descendant=tip):
            for checkout in checkouts:
                forget_dead_lock(checkout)
            return Landing(outcome=LANDED, commit=tip, detail="It had landed already.")
        new = _target(store, tip, commit, message, author, trailers)
        if isinstance(new, Conflict):
            return Landing(outcome=CONFLICT, files=new.files, detail=" ".join(new.messages))
        kind = "fast-forward" if new == commit else "merge"
        plan = Plan(branch=branch, old=tip, new=new, reason=f"codeframe: {kind}")
        try:
            return _carry_out(store, plan, checkouts)
        except RefMoved:
            continue
        except CannotMove as error:
            return Landing(outcome=error.outcome, files=error.files, detail=str(error))
        except Locked as error:
            return Landing(outcome=DIRTY, detail=str(error))
    return Landing(outcome=MOVED, detail=f"The branch {branch} keeps moving.")


def _tip(store: Store, branch: str) -> str | None:
    return list_refs(store, f"{HEADS}{branch}").get(f"{HEADS}{branch}")


def _target(
    store: Store,
    tip: str,
    commit: str,
    message: str,
    author: Author,
    trailers: Mapping[str, str] | None,
) -> str | Conflict:
    if is_ancestor(store, ancestor=tip, descendant=commit):
        return commit
    merged = merge_trees(store, ours=tip, theirs=commit)
    if isinstance(merged, Conflict):
        return merged
    return commit_tree(
        store,
        tree=merged.tree,
        parents=[tip, commit],
        message=message,
        author=author,
        trailers=trailers,
    )


def _carry_out(store: Store, plan: Plan, checkouts: Sequence[Checkout]) -> Landing:
    if len(checkouts) > 1:
        places = ", ".join(str(checkout.work_tree) for checkout in checkouts)
        raise CannotMove(f"The branch {plan.branch} is checked out more than once: {places}.")
    if checkouts:
        _move_along(store, plan, checkouts[0])
    else:
        _publish(store, plan)
    return Landing(outcome=LANDED, commit=plan.new, detail=plan.reason)


def _move_along(store: Store, plan: Plan, checkout: Checkout) -> None:
    """Files, then index, then branch, so that a kill anywhere looks like the user's own staging.

    Files or index ahead of the branch show the landed work as uncommitted, and committing it
    loses nothing. The other way round, the next `git commit -a` would silently take the work
    back. The next call finds what is already moved, and goes on.
    """
    require_quiet(checkout, plan.branch)
    with locked_index(checkout) as lock, Mover(store, checkout, lock=lock) as mover:
        require_quiet(checkout, plan.branch)
        if _tip(store, plan.branch) != plan.old:
            raise RefMoved(f"{checkout.work_tree}: {plan.branch} moved while we waited.")
        changes = list_changes(store, base=plan.old, commit=plan.new)
        mover.require_clean(plan.old, plan.new, changes)
        mover.move(plan.old, plan.new)
        try:
            _publish(store, plan)
        except BaseException:
            mover.move(plan.new, plan.old)
            raise
        mover.leave_trace(plan.old, plan.new, plan.reason)


def _publish(store: Store, plan: Plan) -> None:
    publish(store, ref=f"{HEADS}{plan.branch}", new=plan.new, old=plan.old, reason=plan.reason)
