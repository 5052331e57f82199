"""What we ask git about a repository, and the refs that we move in it."""

import os
import re
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
)
from tasks.workspaces.store import Repository, Store, open_store

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
