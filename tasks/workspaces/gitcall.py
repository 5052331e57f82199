"""One neutralised git call: nothing in a repository, an account or the system can steer it."""

import contextlib
import errno
import os
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tasks.workspaces import commands
from tasks.workspaces.commands import Completed

MINIMUM_VERSION = (2, 38)  # merge-tree --write-tree
TIMEOUT_S = 120.0
LOCK_PATIENCE_S = 3.0

_ENVIRONMENT = {
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ADVICE": "0",
}


class GitError(Exception):
    """The message is one line for a person and names the path."""


class NotARepository(GitError):
    pass


class NoCommits(GitError):
    pass


class UnsupportedRepository(GitError):
    pass


class RepositoryGone(GitError):
    pass


class Locked(GitError):
    """Another git process kept a lock longer than we wait."""


class RefMoved(GitError):
    """A ref was not at the value that the update expected."""


class DiskFull(GitError):
    pass


class Corrupt(GitError):
    """Objects are missing or damaged."""


_FAILURES: tuple[tuple[bytes, type[GitError], str], ...] = (
    (rb"No space left on device|Disk quota exceeded", DiskFull, "the disk is full"),
    (rb"\.lock': File exists", Locked, "another git process holds a lock"),
    (
        rb"but expected|reference already exists|unable to resolve reference",
        RefMoved,
        "the ref was moved meanwhile",
    ),
    (
        rb"bad object|bad tree|failed to unpack tree object|missing (blob|tree|commit)"
        rb"|unable to (read|find)|is corrupt|nonexistent object|not a valid object|could not parse"
        rb"|does not point to a valid",
        Corrupt,
        "an object is missing or damaged",
    ),
    (rb"not a git repository", RepositoryGone, "the repository is gone"),
)


def call(
    git_dir: Path,
    *args: str | bytes | Path,
    named: Path | None = None,
    cwd: Path | None = None,
    work_tree: Path | None = None,
    index: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: bytes | None = None,
    output: Path | None = None,
    accept: Sequence[int] = (0,),
    timeout_s: float = TIMEOUT_S,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Run git there; `named` is the path that an error speaks of.

    A held lock is waited for, for a few seconds. Raises GitError for any code not in `accept`.
    """
    environment = commands.base_environment() | _ENVIRONMENT | {"GIT_DIR": os.fspath(git_dir)}
    if work_tree is not None:
        environment["GIT_WORK_TREE"] = os.fspath(work_tree)
    if index is not None:
        environment["GIT_INDEX_FILE"] = os.fspath(index)
    deadline = time.monotonic() + LOCK_PATIENCE_S
    for pause_s in _pauses():
        done = _run(
            args,
            cwd=cwd or work_tree or git_dir,
            env={**environment, **(env or {})},
            input=input,
            output=output,
            timeout_s=timeout_s,
            pass_fds=pass_fds,
        )
        if done.code in accept:
            return done
        error = failure(args, done, named or work_tree or git_dir)
        if not isinstance(error, Locked) or time.monotonic() > deadline:
            raise error
        time.sleep(pause_s)
    raise AssertionError("unreachable")


def failure(args: Sequence[str | bytes | Path], done: Completed, path: Path) -> GitError:
    """What went wrong, as the narrowest error."""
    if not path.exists():
        return RepositoryGone(f"{path}: this folder no longer exists.")
    said = done.stderr.decode(errors="replace").strip().splitlines()
    reason = said[-1] if said else f"exit code {done.code}"
    for pattern, kind, sentence in _FAILURES:
        if re.search(pattern, done.stderr):
            return kind(f"{path}: {sentence} ({_first(said, pattern)}).")
    if b"unable to write" in done.stderr and _is_full(path):
        return DiskFull(f"{path}: the disk is full ({reason}).")
    return GitError(f"{path}: git {args[0]!s} failed: {reason}.")


@contextlib.contextmanager
def speaking_of(path: Path) -> Iterator[None]:
    """Makes a GitError of what the system refuses meanwhile."""
    try:
        yield
    except OSError as error:
        where = path if error.filename is None else os.fsdecode(error.filename)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{where}: the disk is full.") from error
        raise GitError(f"{where}: {error.strerror}.") from error


def _is_full(path: Path) -> bool:
    """git does not always say why it could not write."""
    left = os.statvfs(path)
    return left.f_bavail * left.f_frsize < 1 << 20


def _first(said: list[str], pattern: bytes) -> str:
    return next((line for line in said if re.search(pattern.decode(), line)), said[-1])


def _run(
    args: Sequence[str | bytes | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    input: bytes | None,
    output: Path | None,
    timeout_s: float,
    pass_fds: Sequence[int],
) -> Completed:
    try:
        return commands.run(
            ["git", *args],
            cwd=cwd,
            env=env,
            input=input,
            output=output,
            timeout_s=timeout_s,
            pass_fds=pass_fds,
        )
    except commands.CommandError as error:
        if not cwd.exists():
            raise RepositoryGone(f"{cwd}: this folder no longer exists.") from error
        raise GitError(f"{cwd}: {error}") from error


def _pauses() -> Iterator[float]:
    pause_s = 0.02
    while True:
        yield pause_s * random.uniform(0.5, 1.5)  # noqa: S311 (not a secret: spreads waiters)
        pause_s = min(pause_s * 1.6, 0.4)


def installed_version() -> tuple[int, ...]:
    """Raises GitError when there is no git."""
    done = _run(
        ["--version"],
        cwd=Path("/"),
        env=commands.base_environment() | _ENVIRONMENT,
        input=None,
        output=None,
        timeout_s=TIMEOUT_S,
        pass_fds=(),
    )
    numbers = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout)
    if numbers is None:
        raise GitError("git does not say which version it is.")
    return tuple(int(part) for part in numbers.groups(default=b"0"))
