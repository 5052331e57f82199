"""What a folder is, told without letting anything in it steer a command.

Files are read by hand; git itself only parses one configuration file and checks one commit.
"""

import os
import tempfile
from functools import cache
from pathlib import Path

from tasks.workspaces import gitcall
from tasks.workspaces.git import (
    HEADS,
    GitError,
    NoCommits,
    NotARepository,
    UnsupportedRepository,
    read_head,
    resolve,
)
from tasks.workspaces.store import HARMLESS_SETTINGS, Repository, open_store

Settings = dict[str, str]

_FALSE = frozenset({"false", "no", "off", "0"})

# What git may note in a repository without changing how we read it.
_KNOWN_EXTENSIONS = frozenset(
    {"noop", "objectformat", "preciousobjects", "relativeworktrees", "worktreeconfig"}
)


def inspect(path: Path) -> Repository:
    """Raises NotARepository, NoCommits, UnsupportedRepository, GitError."""
    require_version()
    path = _resolved(path)
    git_dir = _find_git_dir(path)
    common_dir = _common_dir(git_dir)
    settings = _read_settings(common_dir, git_dir)
    _refuse_unsupported(path, common_dir, git_dir, settings)
    head = read_head(git_dir)
    branch = head.removeprefix(HEADS) if head.startswith(HEADS) else None
    main_is_bare = settings.get("core.bare", "false").lower() not in _FALSE
    repository = Repository(
        path=path,
        git_dir=git_dir,
        common_dir=common_dir,
        objects_dir=common_dir / "objects",
        object_format=settings.get("extensions.objectformat", "sha1"),
        branch=branch,
        commit="",
        is_bare=path == git_dir or (main_is_bare and git_dir == common_dir),
        main_is_bare=main_is_bare,
        shallow=(common_dir / "shallow").is_file(),
        settings=tuple(sorted((k, v) for k, v in settings.items() if k in HARMLESS_SETTINGS)),
    )
    return _with_commit(repository, head)


@cache
def require_version() -> None:
    """Raises GitError when git is missing or too old."""
    version = gitcall.installed_version()
    if version < gitcall.MINIMUM_VERSION:
        least = ".".join(map(str, gitcall.MINIMUM_VERSION))
        found = ".".join(map(str, version))
        raise GitError(f"git {found} is installed; codeframe needs {least} or newer.")


def _resolved(path: Path) -> Path:
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise NotARepository(f"{path}: this folder does not exist or cannot be read.") from error
    if not real.is_dir():
        raise NotARepository(f"{path}: this is not a folder.")
    if "\n" in str(real):
        raise UnsupportedRepository(f"{path!s:.80}: a line break in the path is not supported.")
    return real


def _find_git_dir(path: Path) -> Path:
    marker = path / ".git"
    if marker.is_file():
        return _linked(marker)
    if _looks_like_git_dir(marker):
        return marker.resolve()
    if _looks_like_git_dir(path):
        return path
    parent = next((up for up in path.parents if (up / ".git").exists()), None)
    if parent is not None:
        raise NotARepository(f"{path}: this is a folder inside the repository {parent}.")
    raise NotARepository(f"{path}: this is not a git repository.")


def _linked(marker: Path) -> Path:
    """The git directory that a `.git` file points to."""
    text = _read_line(marker)
    target = marker.parent / text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not (target / "HEAD").is_file():
        raise NotARepository(f"{marker}: it points to {target}, which is not a git directory.")
    return target.resolve()


def _looks_like_git_dir(path: Path) -> bool:
    has_objects = (path / "objects").is_dir() and (path / "refs").is_dir()
    return has_objects and (path / "HEAD").is_file()


def _common_dir(git_dir: Path) -> Path:
    marker = git_dir / "commondir"
    common = (git_dir / _read_line(marker)).resolve() if marker.is_file() else git_dir
    if not (common / "objects").is_dir():
        raise NotARepository(f"{git_dir}: it has no object database.")
    return common


def _read_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4096).decode(errors="surrogateescape").strip()
    except OSError as error:
        raise NotARepository(f"{path}: it cannot be read: {error.strerror}.") from error


def _read_settings(common_dir: Path, git_dir: Path) -> Settings:
    """The repository's own configuration as plain data, without anything it includes."""
    settings = _parse_config(common_dir / "config")
    if settings.get("extensions.worktreeconfig", "false").lower() not in _FALSE:
        settings |= _parse_config(git_dir / "config.worktree")
    return settings


def _parse_config(path: Path) -> Settings:
    if not path.is_file():
        return {}
    done = gitcall.call(
        Path(os.devnull),  # no repository: only this file is read
        "config",
        "--file",
        path,
        "--no-includes",
        "--null",
        "--list",
        named=path,
        cwd=path.parent,
    )
    rows = done.stdout.decode(errors="surrogateescape").split("\0")
    return {name: value for name, _, value in (row.partition("\n") for row in rows) if name}


def _refuse_unsupported(path: Path, common: Path, git_dir: Path, settings: Settings) -> None:
    if any(_is_partial(name, value) for name, value in settings.items()):
        raise UnsupportedRepository(
            f"{path}: this is a partial clone; fetch all of its objects into a full clone first."
        )
    if settings.get("extensions.refstorage", "files") != "files":
        raise UnsupportedRepository(f"{path}: refs in the reftable format are not supported.")
    for name in settings:
        section, _, key = name.partition(".")
        if section == "extensions" and key not in _KNOWN_EXTENSIONS | {"refstorage"}:
            raise UnsupportedRepository(f"{path}: the git extension {key!r} is not supported.")
    if path == git_dir and settings.get("core.bare", "true").lower() in _FALSE:
        raise NotARepository(f"{path}: this is the inside of a repository; name {path.parent}.")
    elsewhere = settings.get("core.worktree")
    if elsewhere is not None and (git_dir / elsewhere).resolve() != path:
        raise UnsupportedRepository(f"{path}: core.worktree puts its work tree elsewhere.")
    if any(not (common / name).is_dir() for name in ("objects", "refs")):
        raise NotARepository(f"{path}: its git directory is incomplete.")


def _is_partial(name: str, value: str) -> bool:
    if name == "extensions.partialclone":
        return True
    promises = name.startswith("remote.") and name.endswith(".promisor")
    filtered = name.startswith("remote.") and name.endswith(".partialclonefilter")
    return filtered or (promises and value.lower() not in _FALSE)


def _with_commit(repository: Repository, head: str) -> Repository:
    with tempfile.TemporaryDirectory(prefix="codeframe-inspect-") as folder:
        commit = resolve(open_store(Path(folder), repository), head)
    if commit is None:
        raise NoCommits(f"{repository.path}: there is no commit to start from; make one first.")
    return Repository(**{**vars(repository), "commit": commit})
