"""Did a gate write into the tree? Told from what the file system says about each file."""

import os
from pathlib import Path

MAX_FILES = 50_000
MAX_NAMED = 20
_NOT_LOOKED_INTO = {".git", ".venv", "venv", "node_modules"}

TreeState = dict[str, tuple[int, int]]


def tree_state(tree: Path) -> TreeState | None:
    """Inode and change time by path; None when the tree is too big or moves while it is read."""
    state: TreeState = {}
    pending = [os.fspath(tree)]
    try:
        while pending and len(state) <= MAX_FILES:
            pending += _read_folder(pending.pop(), state)
    except OSError:
        return None
    return state if len(state) <= MAX_FILES else None


def _read_folder(folder: str, state: TreeState) -> list[str]:
    """Add its files to `state` and return its folders."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _NOT_LOOKED_INTO:
                    folders.append(entry.path)
                continue
            status = entry.stat(follow_symlinks=False)
            state[entry.path] = (status.st_ino, status.st_ctime_ns)
    return folders


def changed_paths(tree: Path, before: TreeState | None, after: TreeState | None) -> tuple[str, ...]:
    """The first few paths, relative to the tree, that came, went or changed."""
    if before is None or after is None:
        return ()
    changed = sorted(dict(before.items() ^ after.items()))
    return tuple(_shown(os.path.relpath(path, tree)) for path in changed[:MAX_NAMED])


def _shown(path: str) -> str:
    return os.fsencode(path).decode(errors="replace")
