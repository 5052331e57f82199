"""A user's repository, and our own way into it.

We never work through the repository's own git directory, because its configuration is input and
can name commands. A *store* is a git directory of ours whose configuration is ours alone and
whose objects and refs are links to the user's.
"""

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from tasks.workspaces.gitcall import speaking_of

# Only what changes how bytes or names reach a work tree; nothing here can name a command.
HARMLESS_SETTINGS = frozenset(
    {
        "core.autocrlf",
        "core.eol",
        "core.filemode",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.sharedrepository",
        "core.symlinks",
    }
)

# The highest-ranking attributes file: bytes of files are stored and written exactly as they are.
_RAW_ATTRIBUTES = b"* -text -ident -eol !filter !working-tree-encoding\n"

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.protectNTFS": "true",
    "core.protectHFS": "true",
    "core.fsync": "objects,derived-metadata,reference",
    "core.fsyncMethod": "batch",
    "commit.gpgSign": "false",
    "diff.renames": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}


@dataclass(frozen=True, kw_only=True)
class Repository:
    """What inspection found; `branch` is None when HEAD is detached."""

    path: Path
    git_dir: Path
    common_dir: Path
    objects_dir: Path
    object_format: str
    branch: str | None
    commit: str
    is_bare: bool
    shallow: bool
    main_is_bare: bool = False
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def zero(self) -> str:
        return "0" * (64 if self.object_format == "sha256" else 40)


@dataclass(frozen=True, kw_only=True)
class Store:
    """Our way into one repository.

    `raw` reads and writes bytes as they are; `plain` converts line ends as the user's own git
    would. Neither knows a filter, driver, hook, remote or helper.
    """

    dir: Path
    repository: Repository

    @property
    def raw(self) -> Path:
        return self.dir / "raw.git"

    @property
    def plain(self) -> Path:
        return self.dir / "plain.git"

    @property
    def scratch(self) -> Path:
        return self.dir / "scratch"

    def scratch_file(self, kind: str) -> Path:
        """A name of its own for a temporary file; the caller removes it."""
        return self.scratch / f"{kind}-{os.getpid()}-{secrets.token_hex(8)}"


def open_store(store_dir: Path, repository: Repository) -> Store:
    """Make or refresh the store; safe to call at any time and at the same time."""
    store = Store(dir=store_dir, repository=repository)
    with speaking_of(store_dir):
        store.scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(store.scratch)
        _fill(store.raw, repository, _RAW_ATTRIBUTES, {})
        _fill(store.plain, repository, b"", dict(repository.settings))
    return store


def _fill(git_dir: Path, repository: Repository, attributes: bytes, own: dict[str, str]) -> None:
    common = repository.common_dir
    (git_dir / "info").mkdir(parents=True, exist_ok=True, mode=0o700)
    _link(git_dir / "objects", repository.objects_dir)
    for name in ("refs", "packed-refs", "logs", "shallow"):
        _link(git_dir / name, common / name)
    _write(git_dir / "HEAD", b"ref: refs/heads/codeframe/none\n")
    _write(git_dir / "info" / "attributes", attributes)
    settings = _SETTINGS | {"core.excludesFile": os.fspath(common / "info" / "exclude")} | own
    _write(git_dir / "config", config_text(settings, repository.object_format, bare=True))


def _sweep(scratch: Path) -> None:
    """Temporary files of processes that were killed."""
    long_ago = time.time() - 24 * 3600
    for path in scratch.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_mtime < long_ago:
                path.unlink()


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    fresh = link.with_name(f".{link.name}-{secrets.token_hex(8)}")
    fresh.symlink_to(target)
    fresh.replace(link)


def _write(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    fresh = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    fresh.write_bytes(content)
    fresh.replace(path)


def config_text(settings: dict[str, str], object_format: str, *, bare: bool) -> bytes:
    """The text of a git configuration of ours."""
    version = "1" if object_format != "sha1" else "0"
    rows = {"core.repositoryFormatVersion": version, "core.bare": str(bare).lower(), **settings}
    if object_format != "sha1":
        rows["extensions.objectFormat"] = object_format
    lines = []
    for name, value in rows.items():
        section, key = name.split(".", 1)
        lines.append(f"[{section}]\n\t{key} = {_quoted(value)}\n")
    return os.fsencode("".join(lines))


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
