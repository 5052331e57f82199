"""A capture onto the batch's branch, without any working tree.

In two phases, so that a crash between them loses nothing: `prepare` writes a commit that no ref
names, `publish` (tasks.workspaces.git) moves the branch if it is still where it was. Whoever
comes after a crash asks `is_ancestor(prepared, branch)`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from batches.integration.commits import CODEFRAME, Author, commit_tree
from tasks.workspaces.git import Store
from tasks.workspaces.gitcall import call


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """`commit` is the old tip itself when the capture adds nothing to it."""

    commit: str
    tip: str

    @property
    def is_empty(self) -> bool:
        return self.commit == self.tip


@dataclass(frozen=True, kw_only=True)
class Conflict:
    files: tuple[bytes, ...]
    messages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MergedTree:
    tree: str


def prepare(
    store: Store,
    *,
    tip: str,
    base: str,
    capture: str,
    message: str,
    author: Author = CODEFRAME,
    trailers: Mapping[str, str] | None = None,
) -> Prepared | Conflict:
    """Put the change base..capture on top of `tip`; nothing visible happens yet."""
    tree = f"{capture}^{{tree}}"
    if tip != base:
        merged = merge_trees(store, ours=tip, theirs=capture)
        if isinstance(merged, Conflict):
            return merged
        tree = merged.tree
    if _same_tree(store, tree, tip):
        return Prepared(commit=tip, tip=tip)
    commit = commit_tree(
        store, tree=tree, parents=[tip], message=message, author=author, trailers=trailers
    )
    return Prepared(commit=commit, tip=tip)


def _same_tree(store: Store, tree: str, commit: str) -> bool:
    done = call(store.raw, "rev-parse", tree, f"{commit}^{{tree}}", named=store.repository.path)
    return len(set(done.stdout.split())) == 1


def merge_trees(store: Store, *, ours: str, theirs: str) -> MergedTree | Conflict:
    """The tree of a merge; merge drivers of the repository play no part."""
    done = call(
        store.raw,
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--messages",
        ours,
        theirs,
        named=store.repository.path,
        accept=(0, 1),
    )
    tree, *rest = done.stdout.split(b"\0")
    if done.ok:
        return MergedTree(tree=tree.decode())
    return _conflict(rest)


def _conflict(fields: list[bytes]) -> Conflict:
    """Names up to an empty field; then, per message: a count, that many paths, kind, sentence."""
    end = fields.index(b"")
    files = tuple(dict.fromkeys(fields[:end]))
    messages: list[str] = []
    rest = fields[end + 1 :]
    while rest and re.fullmatch(rb"\d+", rest[0]):
        paths = int(rest[0])
        kind, sentence = rest[paths + 1 : paths + 3]
        if kind.startswith(b"CONFLICT"):
            messages.append(sentence.decode(errors="replace").strip())
        rest = rest[paths + 3 :]
    return Conflict(files=files, messages=tuple(messages))
