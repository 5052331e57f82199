"""From files in a folder to a tree object, through a temporary index of ours.

Plumbing only: `git add` and `git status` would start git inside nested repositories, and obey
the configuration found there.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from batches.integration.changes import GITLINK
from tasks.workspaces.git import DiskFull, GitError, RepositoryGone
from tasks.workspaces.gitcall import call

NESTED = "a repository of its own"
UNREADABLE = "it cannot be read"
RESERVED = "git does not accept its name or kind"
_MOST_REPORTED = 200
_GITLINK_MODE = b"\0\0\xe0\0"  # as an index file stores it; elsewhere in it by chance only


@dataclass(frozen=True, kw_only=True)
class Uncaptured:
    """Something in the tree that no commit holds: whoever asked keeps the tree."""

    path: bytes
    reason: str


@dataclass(frozen=True, kw_only=True)
class Staging:
    """One folder and the index that it is brought into."""

    git_dir: Path
    work_tree: Path
    index: Path
    uncaptured: list[Uncaptured] = field(default_factory=list)

    def git(
        self, *args: str | bytes, input: bytes | None = None, accept: Sequence[int] = (0,)
    ) -> tuple[bytes, bytes]:
        done = call(
            self.git_dir,
            *args,
            work_tree=self.work_tree,
            index=self.index,
            input=input,
            accept=accept,
        )
        return done.stdout, done.stderr

    def miss(self, path: bytes, reason: str) -> None:
        known = any(row.path.rstrip(b"/") == path for row in self.uncaptured)
        if not known and len(self.uncaptured) < _MOST_REPORTED:
            self.uncaptured.append(Uncaptured(path=path, reason=reason))


def stage(staging: Staging) -> str:
    """Bring every file into the index and write it; the tree object's name is returned."""
    found = _look(staging)
    if found.complaints:
        _make_readable(staging.work_tree)
        found = _look(staging)
    for line in found.complaints:
        staging.miss(*_explain(line))
    _note_filled_submodules(staging)
    _remove(staging, found.deleted)
    _add(staging, [*found.modified, *found.untracked])
    return staging.git("write-tree")[0].decode().strip()


@dataclass(frozen=True, kw_only=True)
class _Found:
    deleted: list[bytes]
    modified: list[bytes]
    untracked: list[bytes]
    complaints: list[bytes]


def _look(staging: Staging) -> _Found:
    # "dirty" compares the commit of a submodule and starts no git in it.
    tracked, complaints = staging.git("diff-files", "-z", "--raw", "--ignore-submodules=dirty")
    others, more = staging.git("ls-files", "-z", "--others", "--exclude-standard")
    rows = tracked.split(b"\0")
    states = [(row[-1:], path) for row, path in zip(rows[::2], rows[1::2], strict=False)]
    deleted = {path for state, path in states if state == b"D"}
    return _Found(
        deleted=sorted(deleted),
        modified=sorted({path for _, path in states} - deleted),
        untracked=[path for path in others.split(b"\0") if path],
        complaints=(complaints + more).splitlines(),
    )


def _explain(line: bytes) -> tuple[bytes, str]:
    named = re.search(rb"'(.+)'", line)
    return (named[1] if named else b"", f"{UNREADABLE} ({line.decode(errors='replace')})")


def _note_filled_submodules(staging: Staging) -> None:
    """A submodule is checked out empty: files in it are work that no commit of ours holds."""
    if _GITLINK_MODE not in staging.index.read_bytes():
        return
    listed, _ = staging.git("ls-files", "-z", "--stage")
    for row in listed.split(b"\0"):
        meta, _, path = row.partition(b"\t")
        if meta.startswith(GITLINK.encode()) and _holds_files(staging.work_tree, path):
            staging.miss(path, NESTED)


def _holds_files(work_tree: Path, path: bytes) -> bool:
    try:
        with os.scandir(work_tree / os.fsdecode(path)) as entries:
            return any(entries)
    except OSError:
        return False


def _remove(staging: Staging, paths: Sequence[bytes]) -> None:
    """Not left to --remove, which refuses a path below a folder that became a link."""
    if paths:
        staging.git("update-index", "-z", "--force-remove", "--stdin", input=_joined(paths))


def _add(staging: Staging, paths: Sequence[bytes]) -> None:
    nested = [path for path in paths if path.endswith(b"/")]
    for path in nested:
        staging.miss(path, NESTED)
    plain = [path.rstrip(b"/") for path in paths]
    if plain and not _update(staging, plain):
        _make_readable(staging.work_tree)
        _add_around_failures(staging, plain)


def _add_around_failures(staging: Staging, paths: Sequence[bytes]) -> None:
    """Halve the list until what cannot be added stands alone."""
    pending = [list(paths)]
    while pending:
        group = pending.pop()
        if _update(staging, group):
            continue
        if len(group) == 1:
            staging.miss(group[0], UNREADABLE)
        else:
            middle = len(group) // 2
            pending += [group[middle:], group[:middle]]


def _update(staging: Staging, paths: Sequence[bytes]) -> bool:
    """False when one of the paths stopped it; the index is then as it was."""
    try:
        _, complaints = staging.git(
            "update-index", "-z", "--add", "--remove", "--replace", "--stdin", input=_joined(paths)
        )
    except (DiskFull, RepositoryGone):
        raise
    except GitError:
        return False
    for line in complaints.splitlines():
        if line.startswith(b"Ignoring path "):
            staging.miss(line.removeprefix(b"Ignoring path "), RESERVED)
    return True


def _joined(paths: Sequence[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def list_newly_hidden(staging: Staging, changed: Sequence[bytes]) -> list[bytes]:
    """What ignore rules hide that this run wrote itself; a folder hidden whole is one entry.

    A rule that hides itself is suspect where tracked files are; elsewhere it is how caches and
    virtual environments keep out of the way.
    """
    listed, _ = staging.git(
        "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
    )
    hidden = [path for path in listed.split(b"\0") if path]
    suspects = {_folder(path) for path in hidden if _is_rules(path)}
    written = {_folder(path) for path in changed if _is_rules(path)}
    written |= {folder for folder in suspects if _holds_tracked(staging, folder)}
    found = [path for path in hidden if any(path.startswith(folder) for folder in written)]
    return found[:_MOST_REPORTED]


def _is_rules(path: bytes) -> bool:
    return path.rpartition(b"/")[2] == b".gitignore"


def _folder(path: bytes) -> bytes:
    """With its slash; empty for the top."""
    return path[: path.rfind(b"/") + 1]


def _holds_tracked(staging: Staging, folder: bytes) -> bool:
    return bool(staging.git("ls-files", "-z", "--", folder or b".")[0])


def _make_readable(folder: Path) -> None:
    """The files are ours, whatever permissions the agent took from them."""
    for path, mode in _walk(folder):
        wanted = 0o700 if stat.S_ISDIR(mode) else 0o400
        if mode & wanted != wanted:
            with contextlib.suppress(OSError):
                path.chmod(stat.S_IMODE(mode) | wanted)


def _walk(folder: Path) -> Iterator[tuple[Path, int]]:
    """Folders before their content; links and special files are left out."""
    pending = [folder]
    while pending:
        here = pending.pop()
        with contextlib.suppress(OSError):
            yield here, here.lstat().st_mode
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != ".git":
                            pending.append(Path(entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        yield Path(entry.path), entry.stat(follow_symlinks=False).st_mode
