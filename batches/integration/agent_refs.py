"""Commits that an agent made in its own clone, brought into the user's repository.

The clone's refs are read as files: its configuration may say anything.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tasks.workspaces.git import HEADS, GitError, RefUpdate, Store, list_refs, update_refs
from tasks.workspaces.gitcall import call

PREFIX = "refs/codeframe/agent/"
_MOST_REFS = 500
_SHORT = 4096
_PART = r"[\w+=-][\w+=@-]*(\.[\w+=@-]+)*"
_NAME = re.compile(rf"(?!.*\.lock(/|$)){_PART}(/{_PART})*")


def preserve_agent_refs(
    store: Store, *, tree_dir: Path, base: str, run_id: str
) -> tuple[dict[str, str], str | None]:
    """The refs made, and a sentence when the clone's history could not be taken over."""
    own = {name: oid for name, oid in _read_refs(tree_dir / ".git").items() if oid != base}
    if not own:
        return {}, None
    try:
        kept = _unknown(store, own, base, tree_dir / ".git" / "objects")
        if kept:
            _take_objects(store, kept, base, tree_dir / ".git" / "objects")
        return _publish(store, kept, f"{PREFIX}{run_id}/"), None
    except GitError as error:
        return {}, f"the agent's own commits could not be kept: {error}"


def _read_refs(git_dir: Path) -> dict[str, str]:
    """Branches, the stash and a detached HEAD, by short name."""
    found: dict[str, str] = {}
    for line in _read(git_dir / "packed-refs", 1 << 20).splitlines():
        oid, _, name = line.partition(" ")
        _note(found, name.strip(), oid)
    for name, path in _loose(git_dir):
        _note(found, name, _read(path, _SHORT).strip())
    _note(found, "HEAD", _read(git_dir / "HEAD", _SHORT).strip())
    return found


def _note(found: dict[str, str], name: str, oid: str) -> None:
    wanted = name in ("HEAD", "refs/stash") or name.startswith(HEADS)
    is_oid = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", oid) and oid.strip("0")
    if wanted and is_oid and len(found) < _MOST_REFS:
        found[name.removeprefix("refs/")] = oid


def _loose(git_dir: Path) -> Iterator[tuple[str, Path]]:
    yield "refs/stash", git_dir / "refs" / "stash"
    for folder, _, names in os.walk(git_dir / HEADS):
        for name in names:
            path = Path(folder) / name
            yield path.relative_to(git_dir).as_posix(), path


def _read(path: Path, limit: int) -> str:
    """A plain file's text; nothing when it is missing, a link, a pipe or unreadable."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return file.read(limit).decode(errors="replace")


def _with_objects(objects: Path) -> dict[str, str]:
    quoted = os.fspath(objects).replace("\\", "\\\\").replace('"', '\\"')
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}


def _unknown(store: Store, refs: Mapping[str, str], base: str, objects: Path) -> dict[str, str]:
    """Those that hold a commit which the base does not."""
    done = call(
        store.raw,
        "rev-list",
        "--ignore-missing",
        "--stdin",
        named=store.repository.path,
        env=_with_objects(objects),
        input=_revisions(refs, base),
    )
    fresh = set(done.stdout.decode().split())
    return {name: oid for name, oid in refs.items() if oid in fresh}


def _revisions(refs: Mapping[str, str], base: str) -> bytes:
    return "".join(f"{oid}\n" for oid in refs.values()).encode() + f"^{base}\n".encode()


def _take_objects(store: Store, refs: Mapping[str, str], base: str, objects: Path) -> None:
    pack = store.scratch_file("agent-pack")
    path = store.repository.path
    try:
        call(
            store.raw,
            "pack-objects",
            "--revs",
            "--stdout",
            "--quiet",
            named=path,
            env=_with_objects(objects),
            input=_revisions(refs, base),
            output=pack,
        )
        # Checked as if it came from a stranger, and written loose: short histories, often none.
        call(store.raw, "unpack-objects", "-q", "--strict", named=path, input=pack.read_bytes())
    finally:
        pack.unlink(missing_ok=True)


def _publish(store: Store, refs: Mapping[str, str], prefix: str) -> dict[str, str]:
    """A name that git or a file system might refuse is replaced by its commit's hash."""
    wanted = {
        f"{prefix}{name if _NAME.fullmatch(name) else oid}": oid for name, oid in refs.items()
    }
    if not wanted:
        return {}
    present = list_refs(store, prefix)
    update_refs(
        store,
        [
            RefUpdate(ref=ref, new=oid, old=present.get(ref))
            for ref, oid in wanted.items()
            if present.get(ref) != oid
        ],
    )
    return wanted
