"""Files of a commit, read by git as they are there; no working tree has a say."""

from collections.abc import Sequence

from tasks.workspaces.gitcall import call
from tasks.workspaces.store import Store

_REGULAR = ("100644", "100755", "100664")


def read_files(
    store: Store, commit: str, names: Sequence[str], *, max_bytes: int
) -> dict[str, bytes]:
    """Regular files of these exact paths; links, folders and larger files are left out.

    One process to look, one more when something is there. Raises GitError.
    """
    listed = call(
        store.raw, "ls-tree", "-z", "--long", commit, "--", *names, named=store.repository.path
    )
    found: dict[str, str] = {}
    for row in listed.stdout.split(b"\0"):
        meta, _, path = row.decode(errors="surrogateescape").partition("\t")
        mode, _, oid, size = meta.split() if meta else ("", "", "", "0")
        if mode in _REGULAR and int(size) <= max_bytes:
            found[path] = oid
    contents = _read_blobs(store, sorted(set(found.values())))
    return {path: contents[oid] for path, oid in found.items()}


def _read_blobs(store: Store, oids: Sequence[str]) -> dict[str, bytes]:
    if not oids:
        return {}
    done = call(
        store.raw,
        "cat-file",
        "--batch",
        named=store.repository.path,
        input="".join(f"{oid}\n" for oid in oids).encode(),
    )
    contents: dict[str, bytes] = {}
    rest = memoryview(done.stdout)
    for oid in oids:
        end = bytes(rest[:200]).index(b"\n")
        size = int(bytes(rest[:end]).split(b" ")[2])
        contents[oid] = bytes(rest[end + 1 : end + 1 + size])
        rest = rest[end + 2 + size :]
    return contents
