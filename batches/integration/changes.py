"""What a commit changes, from git's own raw output: bytes, any name, any content."""

from dataclasses import dataclass
from pathlib import Path

from tasks.workspaces.git import Store
from tasks.workspaces.gitcall import call

ABSENT = "000000"
LINK = "120000"
GITLINK = "160000"
_LITERAL = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


@dataclass(frozen=True, kw_only=True)
class Change:
    """One path; `added` and `deleted` count lines and are None for binary content."""

    path: bytes
    status: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    added: int | None = None
    deleted: int | None = None


def list_changes(store: Store, *, base: str, commit: str) -> list[Change]:
    """In order of path; renames are a deletion and an addition."""
    done = call(
        store.raw,
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--numstat",
        *_LITERAL,
        base,
        commit,
        named=store.repository.path,
    )
    raw, counts = _split(done.stdout)
    return [_change(meta, path, counts.get(path, (None, None))) for meta, path in raw]


_Counts = dict[bytes, tuple[int | None, int | None]]


def _split(output: bytes) -> tuple[list[tuple[bytes, bytes]], _Counts]:
    """The raw rows (`:meta NUL path NUL`), then the counts (`n TAB m TAB path NUL`)."""
    fields = output.split(b"\0")
    raw: list[tuple[bytes, bytes]] = []
    at = 0
    while fields[at].startswith(b":"):
        raw.append((fields[at], fields[at + 1]))
        at += 2
    counts: _Counts = {}
    for row in filter(None, fields[at:]):
        added, deleted, path = row.split(b"\t", 2)
        counts[path] = (_count(added), _count(deleted))
    return raw, counts


def _count(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def _change(meta: bytes, path: bytes, counts: tuple[int | None, int | None]) -> Change:
    old_mode, new_mode, old_oid, new_oid, status = meta[1:].decode().split(" ")
    return Change(
        path=path,
        status=status[:1],
        old_mode=old_mode,
        new_mode=new_mode,
        old_oid=old_oid,
        new_oid=new_oid,
        added=counts[0],
        deleted=counts[1],
    )


def diff_patch(
    store: Store,
    *,
    base: str,
    commit: str,
    output: Path | None = None,
    context: int = 3,
    ignore_space: bool = False,
) -> bytes:
    """A patch that `git apply` turns back into exactly the same bytes.

    With `output` it goes to that file, of any size, and nothing is returned. With `ignore_space`
    it is for reading only.
    """
    done = call(
        store.raw,
        "diff-tree",
        "-r",
        "-p",
        "--binary",
        "--full-index",
        f"--unified={context}",
        *(["--ignore-all-space"] if ignore_space else []),
        *_LITERAL,
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--no-color",
        base,
        commit,
        named=store.repository.path,
        output=output,
    )
    return done.stdout
