"""Deleting a folder that may hold anything: links, missing permissions, endless nesting."""

import os
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(path: Path) -> None:
    """Links are unlinked, never followed. A path that is no folder is just unlinked.

    Each folder found is first moved up to the top, so the depth is one throughout: no recursion,
    two open files, and no path longer than the system allows.
    """
    try:
        top = _open_folder(os.fspath(path), None)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink(missing_ok=True)
        return
    try:
        while entries := _entries(top):
            for entry in entries:
                _remove_entry(entry.name, top)
    finally:
        os.close(top)
    path.rmdir()


def _open_folder(name: str, parent: int | None) -> int:
    """With every permission given to ourselves. Raises NotADirectoryError, for a link too."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        folder = os.open(name, _FOLDER, dir_fd=parent)
    os.fchmod(folder, 0o700)
    return folder


def _remove_entry(name: str, top: int) -> None:
    try:
        folder = _open_folder(name, top)
    except NotADirectoryError:
        os.unlink(name, dir_fd=top)
        return
    try:
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                _hoist(entry.name, folder, top)
            else:
                os.unlink(entry.name, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _entries(folder: int) -> list["os.DirEntry[str]"]:
    with os.scandir(folder) as entries:
        return list(entries)


def _hoist(name: str, folder: int, top: int) -> None:
    fresh = f"codeframe-removing-{os.urandom(8).hex()}"
    os.close(_open_folder(name, folder))  # a folder without permissions may not be moved
    os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=top)
