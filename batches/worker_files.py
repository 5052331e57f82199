"""Which workers run on this machine: a file each, named by process, believed only if it lives."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from batches import owner, paths


@contextmanager
def announced() -> Iterator[None]:
    me = owner.new_owner()
    path = paths.state_folder("workers") / f"{os.getpid()}.json"
    path.write_text(json.dumps({"pid": os.getpid(), "owner": me}))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def living() -> list[int]:
    """Process ids of this machine's workers; files of dead ones are removed."""
    found = []
    for path in paths.state_folder("workers").glob("*.json"):
        try:
            note = json.loads(path.read_text())
        except (OSError, ValueError):
            continue  # just being written, or just removed
        if owner.is_dead(note["owner"]):
            path.unlink(missing_ok=True)
        else:
            found.append(int(note["pid"]))
    return found
