"""A user's repository: what it is, and our own way into it.

We never work through the repository's own git directory, because its configuration is input and
can name commands. A *store* is a git directory of ours whose configuration is ours alone and
whose objects and refs are links to the user's.
"""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.workspaces.gitcall import (
    Corrupt,
    DiskFull,
    GitError,
    Locked,
    NoCommits,
    NotARepository,
    RefMoved,
    RepositoryGone,
    UnsupportedRepository,
    call,
    speaking_of,
)

__all__ = [
    "Corrupt",
    "DiskFull",
    "GitError",
    "Locked",
    "NoCommits",
    "NotARepository",
    "RefMoved",
    "RefUpdate",
    "Repository",
    "RepositoryGone",
    "Store",
    "UnsupportedRepository",
    "is_ancestor",
    "list_refs",
    "log",
    "open_store",
    "publish",
    "resolve",
    "update_refs",
]

HEADS = "refs/heads/"

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


@dataclass(frozen=True, kw_only=True)
class RefUpdate:
    """`old` None: it must not exist yet. `new` None: delete it."""

    ref: str
    new: str | None
    old: str | None


@dataclass(frozen=True, kw_only=True)
class CommitInfo:
    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: int
    subject: str


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


def resolve(store: Store, name: str) -> str | None:
    """The commit that a branch, tag, ref or hash names; None when there is none."""
    repository = store.repository
    if re.match(r"(HEAD|@)($|[~^])", name):
        name = re.sub(r"^(HEAD|@)", read_head(repository.git_dir), name)
    done = call(
        store.raw,
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{name}^{{commit}}",
        named=repository.path,
        accept=(0, 1, 128),
    )
    if not done.ok and not repository.objects_dir.is_dir():
        raise RepositoryGone(f"{repository.path}: the repository is gone.")
    return done.stdout.decode().strip() if done.ok else None


def read_head(git_dir: Path) -> str:
    """The ref that HEAD names, or the commit when it is detached."""
    try:
        text = (git_dir / "HEAD").read_text(errors="surrogateescape").strip()
    except OSError as error:
        raise RepositoryGone(f"{git_dir}/HEAD: {error.strerror}.") from error
    return text.removeprefix("ref:").strip()


def list_refs(store: Store, prefix: str) -> dict[str, str]:
    """Every ref below a prefix (or exactly that ref) and the object it names."""
    done = call(
        store.raw,
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        prefix,
        named=store.repository.path,
    )
    rows = (os.fsdecode(line).split(" ", 1) for line in done.stdout.splitlines())
    return {name: commit for commit, name in rows}


def publish(
    store: Store, *, ref: str, new: str, old: str | None, reason: str = "codeframe"
) -> None:
    """Move one ref if it is still at `old`. Raises RefMoved."""
    update_refs(store, [RefUpdate(ref=ref, new=new, old=old)], reason=reason)


def update_refs(store: Store, updates: Sequence[RefUpdate], *, reason: str = "codeframe") -> None:
    """All of them or none. Raises RefMoved when one is not at its old value."""
    zero = store.repository.zero
    lines = [
        f"update {row.ref}\0{row.new or zero}\0{row.old or zero}\0".encode(errors="surrogateescape")
        for row in updates
    ]
    if lines:
        call(
            store.raw,
            "update-ref",
            "-z",
            "-m",
            reason.replace("\n", " "),
            "--stdin",
            named=store.repository.path,
            env=COMMITTER,
            input=b"".join(lines),
        )


COMMITTER = {
    "GIT_COMMITTER_NAME": "codeframe",
    "GIT_COMMITTER_EMAIL": "codeframe@localhost",
}


def is_ancestor(store: Store, *, ancestor: str, descendant: str) -> bool:
    done = call(
        store.raw,
        "merge-base",
        "--is-ancestor",
        ancestor,
        descendant,
        named=store.repository.path,
        accept=(0, 1),
    )
    return done.ok


def log(store: Store, revisions: str, *, limit: int = 100) -> list[CommitInfo]:
    """Newest first; `revisions` is a commit, a ref or a range `a..b`."""
    done = call(
        store.raw,
        "log",
        "-z",
        f"--max-count={limit}",
        "--encoding=UTF-8",
        "--format=%H%n%P%n%an%n%ae%n%at%n%s",
        "--end-of-options",
        revisions,
        named=store.repository.path,
    )
    return [_commit_info(row) for row in done.stdout.split(b"\0") if row]


def _commit_info(row: bytes) -> CommitInfo:
    commit, parents, author, email, time, subject = row.decode(errors="replace").split("\n", 5)
    return CommitInfo(
        commit=commit,
        parents=tuple(parents.split()),
        author=author,
        email=email,
        time=int(time),
        subject=subject,
    )
