"""The user's own checkouts of a branch: where they are, whether they may be moved along."""

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.workspaces.git import HEADS, Locked, Repository, read_head
from tasks.workspaces.gitcall import LOCK_PATIENCE_S

# What git leaves in a git directory while an operation waits for the user.
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_START": "a bisect",
}
_HEAD_NAMES = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_LOCK_NOTE = b"codeframe: landing; held for as long as this file is flocked\n"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    work_tree: Path
    git_dir: Path

    @property
    def index(self) -> Path:
        return self.git_dir / "index"


class CannotMove(Exception):
    """The checkout is not touched; the message is a sentence for a person."""

    outcome = "dirty"

    def __init__(self, message: str, files: Sequence[bytes] = ()) -> None:
        super().__init__(message)
        self.files = tuple(files)


def find(repository: Repository, branch: str) -> list[Checkout]:
    """Every checkout whose HEAD is on the branch, or that is rebasing it."""
    return [
        checkout
        for checkout in _all(repository)
        if read_head(checkout.git_dir) == f"{HEADS}{branch}" or _works_on(checkout, branch)
    ]


def _all(repository: Repository) -> Iterator[Checkout]:
    if not repository.is_bare:
        yield Checkout(work_tree=repository.path, git_dir=repository.git_dir)
    common = repository.common_dir
    if repository.git_dir != common and common.name == ".git" and not repository.main_is_bare:
        yield Checkout(work_tree=common.parent, git_dir=common)
    for git_dir in sorted((common / "worktrees").glob("*")):
        checkout = _linked(git_dir)
        if checkout is not None and git_dir != repository.git_dir:
            yield checkout


def _linked(git_dir: Path) -> Checkout | None:
    """A linked worktree that points back; otherwise it is gone, or was never one."""
    try:
        marker = git_dir / (git_dir / "gitdir").read_text(errors="surrogateescape").strip()
        back = marker.read_text(errors="surrogateescape").removeprefix("gitdir:").strip()
    except OSError:
        return None
    if (marker.parent / back).resolve() != git_dir.resolve():
        return None
    return Checkout(work_tree=marker.parent.resolve(), git_dir=git_dir)


def _works_on(checkout: Checkout, branch: str) -> bool:
    for name in _HEAD_NAMES:
        with contextlib.suppress(OSError):
            text = (checkout.git_dir / name).read_text(errors="replace").strip()
            if text.removeprefix(HEADS) == branch:
                return True
    return False


@contextlib.contextmanager
def locked_index(checkout: Checkout) -> Iterator[int]:
    """Hold git's own lock on the user's index; the open file is passed on to our children.

    The lock file names us and is flocked, so a lock left by a killed landing is told from one
    that is held, by the landing or by a git process that it started. Raises Locked.
    """
    path = checkout.git_dir / "index.lock"
    handle = _take_lock(path, time.monotonic() + LOCK_PATIENCE_S)
    try:
        yield handle
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _take_lock(path: Path, deadline: float) -> int:
    while True:
        handle = _create_lock(path)
        if handle is None:
            handle = _inherit_lock(path)
        if handle is not None:
            return handle
        if time.monotonic() > deadline:
            raise Locked(f"{path}: another git process holds this lock.")
        time.sleep(0.05)


def _create_lock(path: Path) -> int | None:
    """Made complete and locked under another name first: never seen half-made."""
    fresh = path.with_name(f"codeframe-lock-{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, _LOCK_NOTE)
        path.hardlink_to(fresh)
    except FileExistsError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    finally:
        fresh.unlink(missing_ok=True)
    return handle


def _inherit_lock(path: Path) -> int | None:
    """Take over a lock of ours whose holder is dead."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = os.path.samestat(os.fstat(handle), path.stat())
        if same and os.read(handle, len(_LOCK_NOTE) + 1) == _LOCK_NOTE:
            return handle
    except OSError:
        pass  # held, or replaced meanwhile: the caller looks again
    os.close(handle)
    return None


def require_quiet(checkout: Checkout, branch: str) -> None:
    """Raises CannotMove when the checkout waits for its user, or is not a plain one."""
    for name, what in _IN_PROGRESS.items():
        if (checkout.git_dir / name).exists():
            raise CannotMove(f"{checkout.work_tree}: {what} is in progress.")
    if read_head(checkout.git_dir) != f"{HEADS}{branch}":
        raise CannotMove(f"{checkout.work_tree}: it is no longer on {branch}.")
    if any(checkout.git_dir.glob("sharedindex.*")):
        raise CannotMove(f"{checkout.work_tree}: its index is split, which is not supported.")


def forget_dead_lock(checkout: Checkout) -> None:
    """Remove the lock of a landing that was killed; any other lock stays."""
    path = checkout.git_dir / "index.lock"
    handle = _inherit_lock(path)
    if handle is not None:
        path.unlink(missing_ok=True)
        os.close(handle)
