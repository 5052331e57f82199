"""A tree put back to what was checked out, but for what ignore rules hide."""

import contextlib
import os
import shutil
from pathlib import Path

from batches.integration.removal import remove_folder
from batches.integration.staging import Staging
from batches.integration.trees import private_index
from tasks.workspaces.git import Store
from tasks.workspaces.gitcall import speaking_of

_MODULES = "node_modules"


def restore(store: Store, *, tree_dir: Path) -> None:
    """Before an agent begins: what set-up wrote into the tree must not pass for its work.

    Installed modules stay, with a file in them that hides them from git. Raises GitError.
    """
    with speaking_of(tree_dir):
        _hide_modules(tree_dir)
        index = store.scratch_file("restore-index")
        staging = Staging(git_dir=store.raw, work_tree=tree_dir, index=index)
        try:
            shutil.copy2(private_index(tree_dir), index)
            staging.git("checkout-index", "--all", "--force")
            others, _ = staging.git("ls-files", "-z", "--others", "--exclude-standard")
        finally:
            index.unlink(missing_ok=True)
        for path in others.split(b"\0"):
            if path:
                _remove(tree_dir, path)


def _hide_modules(tree_dir: Path) -> None:
    modules = tree_dir / _MODULES
    if modules.is_dir() and not modules.is_symlink():
        (modules / ".gitignore").write_text("*\n")


def _remove(tree_dir: Path, path: bytes) -> None:
    target = tree_dir / os.fsdecode(path.rstrip(b"/"))
    remove_folder(target)
    with contextlib.suppress(OSError):  # the folder above may hold more
        target.parent.rmdir()
