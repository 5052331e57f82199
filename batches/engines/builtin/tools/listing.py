"""list_files."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from batches.engines.builtin.tools.jail import Jail, ToolError

MOST_FILES = 500
MOST_ENTRIES = 100_000
PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache"})


def list_files(jail: Jail, path: str, pattern: str | None, max_depth: int) -> str:
    """Paths relative to the tree; folders end in a slash; links are not followed."""
    folder = jail.resolve(path)
    if not folder.is_dir():
        raise ToolError(f"{path!r} is no folder.")
    found: list[str] = []
    for seen, (name, entry) in enumerate(_walk(folder, max_depth)):
        if seen >= MOST_ENTRIES or len(found) >= MOST_FILES:
            found.append(f"[there are more than {len(found)}; look into one folder]")
            break
        if pattern is None or fnmatch(entry.name, pattern) or fnmatch(name, pattern):
            found.append(_shown(jail, folder, name, entry))
    return "\n".join(found) or "(nothing found)"


def _shown(jail: Jail, folder: Path, name: str, entry: os.DirEntry[str]) -> str:
    path = name if folder == jail.tree else f"{jail.name(folder)}/{name}"
    return f"{path}/" if entry.is_dir(follow_symlinks=False) else path


def _walk(folder: Path, depth: int, prefix: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:  # unreadable, or gone meanwhile
        return
    for entry in entries:
        if entry.name in PASSED_OVER:
            continue
        yield prefix + entry.name, entry
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth - 1, f"{prefix}{entry.name}/")
