"""The seal of a finished environment: written last, broken by whatever changes afterwards.

Without a seal there is no environment, only what a crash has left. The digest covers each file's
inode, size, mode and time of change, which nobody can set back.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

SEAL = "seal.json"


@dataclass(frozen=True, kw_only=True)
class Seal:
    """`versions` are of the tools that built it; `bytes` is what it takes on the disk."""

    digest: str
    files: int
    bytes: int
    tool: str
    versions: dict[str, str]
    seconds: float


def seal(folder: Path, *, tool: str, versions: dict[str, str], seconds: float) -> Seal:
    """Takes the right to write from all of it first."""
    _look(folder, _make_read_only)
    digest, files, size = _look(folder)
    made = Seal(
        digest=digest, files=files, bytes=size, tool=tool, versions=versions, seconds=seconds
    )
    fresh = folder / f".{SEAL}"
    with fresh.open("w") as file:
        json.dump(asdict(made), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / SEAL)
    return made


def read_seal(folder: Path) -> Seal | None:
    try:
        return Seal(**json.loads((folder / SEAL).read_text()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None


def is_intact(folder: Path, known: Seal) -> bool:
    return _look(folder)[0] == known.digest


def size_of(folder: Path) -> int:
    return _look(folder)[2]


def _look(
    folder: Path, visit: Callable[["os.DirEntry[str]"], None] | None = None
) -> tuple[str, int, int]:
    """Digest, number and bytes of all that is below, but for the seal itself.

    Some ten microseconds a file, and an environment has thousands: one update a folder.
    """
    digest = hashlib.sha256()
    files = size = 0
    top = os.fspath(folder)
    pending = [top]
    while pending:
        here = pending.pop()
        rows = []
        folders = []
        with os.scandir(here) as entries:
            for entry in entries:
                if here == top and entry.name in (SEAL, f".{SEAL}"):
                    continue
                if visit is not None:
                    visit(entry)
                status = entry.stat(follow_symlinks=False)
                mode = status.st_mode
                rows.append((entry.name, status.st_ino, status.st_size, mode, status.st_ctime_ns))
                size += status.st_blocks * 512
                if stat.S_ISDIR(mode):
                    folders.append(entry.path)
        rows.sort()
        pending += sorted(folders)
        files += len(rows)
        digest.update(repr((here, rows)).encode())
    return digest.hexdigest(), files, size


def _make_read_only(entry: "os.DirEntry[str]") -> None:
    if not entry.is_symlink():
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        Path(entry.path).chmod(mode & ~0o222)
