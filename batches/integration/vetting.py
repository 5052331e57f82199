"""What may not come in: rules over what a change introduces. A policy may add rows to RULES."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from batches.integration.changes import ABSENT, GITLINK, LINK, Change
from tasks.workspaces.git import Store
from tasks.workspaces.gitcall import call

REFUSE = "refuse"
WARN = "warn"
_MOST_STEPS = 10_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    rule: str
    severity: str
    path: bytes
    message: str


@dataclass(frozen=True, kw_only=True)
class Context:
    """What rules may look at; `links` holds every link of the new tree when there is a new one."""

    store: Store
    commit: str
    changes: Sequence[Change]
    links: Mapping[bytes, bytes]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`finds` gives the sentence for one change, or None when there is nothing to say."""

    name: str
    severity: str
    finds: Callable[[Change, Context], str | None]
    judges_deletions: bool = False


def vet(
    store: Store, *, commit: str, changes: Sequence[Change], rules: Sequence[Rule] | None = None
) -> list[Finding]:
    """Only what the change brings is judged, never what the base already held."""
    context = _context(store, commit, changes)
    return list(_findings(changes, context, RULES if rules is None else rules))


def _findings(
    changes: Sequence[Change], context: Context, rules: Sequence[Rule]
) -> Iterator[Finding]:
    for change in changes:
        for rule in rules:
            is_judged = change.new_mode != ABSENT or rule.judges_deletions
            message = rule.finds(change, context) if is_judged else None
            if message is not None:
                yield Finding(
                    rule=rule.name, severity=rule.severity, path=change.path, message=message
                )


def _context(store: Store, commit: str, changes: Sequence[Change]) -> Context:
    links: dict[bytes, bytes] = {}
    if any(change.new_mode == LINK for change in changes):
        names = _tree_links(store, commit)
        contents = read_blobs(store, [*names.values()])
        links = {path: contents[oid] for path, oid in names.items()}
    return Context(store=store, commit=commit, changes=changes, links=links)


def _tree_links(store: Store, commit: str) -> dict[bytes, str]:
    done = call(store.raw, "ls-tree", "-r", "-z", commit, named=store.repository.path)
    links: dict[bytes, str] = {}
    for row in done.stdout.split(b"\0"):
        meta, _, path = row.partition(b"\t")
        if meta.startswith(LINK.encode()):
            links[path] = meta.split(b" ")[2].decode()
    return links


def read_blobs(store: Store, oids: Sequence[str]) -> dict[str, bytes]:
    """The contents of small objects, in one process."""
    done = call(
        store.raw,
        "cat-file",
        "--batch",
        named=store.repository.path,
        input="".join(f"{oid}\n" for oid in oids).encode(),
    )
    contents: dict[str, bytes] = {}
    rest = done.stdout
    while rest:
        header, _, rest = rest.partition(b"\n")
        oid, _, size = header.decode().split(" ")
        contents[oid], rest = rest[: int(size)], rest[int(size) + 1 :]
    return contents


# Zero-width and direction marks that HFS+ drops from names.
_DROPPED_BY_HFS = re.compile("[\u200c\u200d\u200e\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def names_git_dir(component: bytes) -> bool:
    """Whether some file system would take this name for `.git`."""
    text = _DROPPED_BY_HFS.sub("", component.decode(errors="surrogateescape"))
    for part in text.split("\\"):
        bare = part.split(":", 1)[0].rstrip(". ").lower()
        if bare in (".git", "git~1"):
            return True
    return False


def _leaves_tree(change: Change, context: Context) -> str | None:
    parts = change.path.split(b"/")
    if change.path.startswith(b"/") or re.match(rb"[A-Za-z]:[\\/]", change.path):
        return "The path is absolute."
    if any(part in (b"..", b".", b"") for part in parts) or b"..\\" in change.path:
        return "The path leaves the tree."
    return None


def _is_git_dir(change: Change, context: Context) -> str | None:
    if any(names_git_dir(part) for part in change.path.split(b"/")):
        return "The path names git's own directory."
    return None


def _is_submodule(change: Change, context: Context) -> str | None:
    if change.new_mode == GITLINK:
        verb = "changed" if change.old_mode == GITLINK else "added"
        return f"A submodule, or a repository inside the tree, was {verb}."
    return None


def _changes_gitmodules(change: Change, context: Context) -> str | None:
    name = change.path.decode(errors="surrogateescape")
    if _DROPPED_BY_HFS.sub("", name).rstrip(". ").lower() in (".gitmodules", "gitmod~1"):
        return "The list of submodules was changed."
    return None


def _is_linked_gitmodules(change: Change, context: Context) -> str | None:
    if change.new_mode == LINK and _changes_gitmodules(change, context):
        return "The list of submodules became a link."
    return None


def _points_out(change: Change, context: Context) -> str | None:
    target = context.links.get(change.path) if change.new_mode == LINK else None
    if target is None:
        return None
    if is_absolute(target):
        return "The link's target is absolute."
    if any(names_git_dir(part) for part in target.split(b"/")):
        return "The link's target is git's own directory."
    if leaves(change.path, context.links) is not None:
        return "The link's target is outside of the tree."
    return None


def _diverts(change: Change, context: Context) -> str | None:
    """A link that was harmless may lead out through a new one."""
    if change.new_mode != LINK:
        return None
    for link in context.links:
        if change.path in (leaves(link, context.links) or ()):
            return f"It makes the link {os.fsdecode(link)!a} lead out of the tree."
    return None


def is_absolute(target: bytes) -> bool:
    return target.startswith((b"/", b"\\")) or re.match(rb"[A-Za-z]:", target) is not None


def leaves(link: bytes, links: Mapping[bytes, bytes]) -> set[bytes] | None:
    """The other links passed on the way out of the tree; None when the target stays inside.

    A target is walked part by part, through every link of the tree. A loop leads nowhere.
    """
    at = link.split(b"/")[:-1]
    pending = links[link].split(b"/")[::-1]
    passed: set[bytes] = set()
    for _ in range(_MOST_STEPS):
        if not pending:
            return None
        part = pending.pop()
        if part in (b"", b"."):
            continue
        if part == b"..":
            if not at:
                return passed
            at.pop()
            continue
        further = links.get(b"/".join([*at, part]))
        if further is None:
            at.append(part)
            continue
        passed.add(b"/".join([*at, part]))
        if is_absolute(further):
            return passed
        pending += further.split(b"/")[::-1]
    return None


def _is_odd_mode(change: Change, context: Context) -> str | None:
    if change.new_mode not in (ABSENT, "100644", "100755", LINK, GITLINK):
        return f"The file has the unusual mode {change.new_mode}."
    return None


RULES: tuple[Rule, ...] = (
    Rule(name="path_outside", severity=REFUSE, finds=_leaves_tree),
    Rule(name="git_directory", severity=REFUSE, finds=_is_git_dir),
    Rule(name="submodule", severity=REFUSE, finds=_is_submodule),
    Rule(name="gitmodules", severity=WARN, finds=_changes_gitmodules, judges_deletions=True),
    Rule(name="gitmodules_link", severity=REFUSE, finds=_is_linked_gitmodules),
    Rule(name="link_outside", severity=REFUSE, finds=_points_out),
    Rule(name="link_diverted", severity=REFUSE, finds=_diverts),
    Rule(name="odd_mode", severity=WARN, finds=_is_odd_mode),
)
