"""Working trees of runs: made by hand from the user's objects, outside the repository."""

import contextlib
import os
import shutil
from pathlib import Path

from batches.integration.removal import remove_folder
from tasks.workspaces.git import HEADS, Store
from tasks.workspaces.gitcall import call, speaking_of
from tasks.workspaces.store import config_text

# What an agent's own git sees. The identity lets it commit; there is no remote to push to.
_AGENT_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.logAllRefUpdates": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "user.name": "codeframe agent",
    "user.email": "agent@codeframe.localhost",
}


def private_index(tree_dir: Path) -> Path:
    """Our own index of a tree, which knows its files as we wrote them; the agent has a copy."""
    return tree_dir.with_name(f"{tree_dir.name}.index")


def create(store: Store, *, tree_dir: Path, base: str, branch: str) -> None:
    """Check out `base` in a new folder. What a failure leaves is removed. Raises GitError."""
    with speaking_of(tree_dir):
        tree_dir.mkdir(parents=True, mode=0o700)
        try:
            _check_out(store, tree_dir, base)
            _write_git_dir(store, tree_dir, base, branch)
        except BaseException:
            remove(tree_dir)
            raise


def lay_over(store: Store, *, tree_dir: Path, tree: str) -> None:
    """Make the files of a new working tree those of `tree`; its HEAD stays. Raises GitError."""
    with speaking_of(tree_dir):
        index = private_index(tree_dir)
        call(store.raw, "read-tree", "-m", "-u", tree, work_tree=tree_dir, index=index)


def _check_out(store: Store, tree_dir: Path, base: str) -> None:
    index = private_index(tree_dir)
    index.unlink(missing_ok=True)
    call(store.raw, "read-tree", "-m", "-u", base, work_tree=tree_dir, index=index)


def _write_git_dir(store: Store, tree_dir: Path, base: str, branch: str) -> None:
    repository = store.repository
    git_dir = tree_dir / ".git"
    ref = git_dir / HEADS / branch
    for folder in (git_dir / "info", git_dir / "objects" / "info", ref.parent):
        folder.mkdir(parents=True)
    (git_dir / "objects" / "info" / "alternates").write_bytes(_alternate(repository.objects_dir))
    (git_dir / "info" / "attributes").write_bytes((store.raw / "info" / "attributes").read_bytes())
    _copy_if_present(repository.common_dir / "info" / "exclude", git_dir / "info" / "exclude")
    _copy_if_present(repository.common_dir / "shallow", git_dir / "shallow")
    (git_dir / "config").write_bytes(
        config_text(_AGENT_SETTINGS, repository.object_format, bare=False)
    )
    ref.write_text(f"{base}\n")
    shutil.copy2(private_index(tree_dir), git_dir / "index")
    (git_dir / "HEAD").write_text(f"ref: {HEADS}{branch}\n")


def _alternate(objects_dir: Path) -> bytes:
    quoted = os.fsencode(objects_dir).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'"' + quoted + b'"\n'


def _copy_if_present(source: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(source, target)


def remove(tree_dir: Path) -> None:
    """Delete the tree and our notes on it; it need not exist. Raises GitError."""
    with speaking_of(tree_dir):
        private_index(tree_dir).unlink(missing_ok=True)
        remove_folder(tree_dir)
