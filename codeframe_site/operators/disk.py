"""How much disk each kind of thing takes: measured beside the requests, shown with its age."""

import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

log = logging.getLogger(__name__)

FRESH_SECONDS = 600.0
LONGEST_SECONDS = 120.0
"""A measurement that takes longer ends, and says that it is not whole."""
KINDS = {
    "stores": "git objects of runs",
    "runs": "prompts, output and exit records",
    "trees": "working trees of runs under way",
    "validations": "trees of whole batches being checked",
    "environments": "environments of projects",
}
OTHER = "database and everything else"
_NOTE = "disk.json"
_measuring = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Bytes by kind, `at` epoch seconds. `whole` is False where the time did not suffice."""

    at: float
    kinds: dict[str, int]
    whole: bool

    @property
    def age_s(self) -> float:
        return max(0.0, time.time() - self.at)


def free_space() -> tuple[int, int]:
    """Free and total bytes of the state directory's file system; one call of the system."""
    found = shutil.disk_usage(settings.STATE_DIR)
    return found.free, found.total


def last_measured() -> Usage | None:
    """What is known now; a new measurement begins in a thread of its own when that is old."""
    known = _read()
    if (known is None or known.age_s > FRESH_SECONDS) and _measuring.acquire(blocking=False):
        threading.Thread(target=_measure_and_free, name="disk-usage", daemon=True).start()
    return known


def measure() -> Usage:
    """Walks the whole state directory: not for a request."""
    root = Path(settings.STATE_DIR)
    deadline = time.monotonic() + LONGEST_SECONDS
    kinds = dict.fromkeys([*KINDS.values(), OTHER], 0)
    whole = True
    for path, size in _files(root):
        if time.monotonic() > deadline:
            whole = False
            break
        kinds[KINDS.get(path.relative_to(root).parts[0], OTHER)] += size
    return Usage(at=time.time(), kinds=kinds, whole=whole)


def _measure_and_free() -> None:
    try:
        usage = measure()
        draft = Path(settings.STATE_DIR) / f"{_NOTE}.{os.getpid()}"
        draft.write_text(json.dumps(vars(usage)))
        draft.rename(Path(settings.STATE_DIR) / _NOTE)
    except OSError as error:
        log.warning("disk usage cannot be measured: %s", error)
    finally:
        _measuring.release()


def _files(root: Path) -> Iterator[tuple[Path, int]]:
    """What vanishes meanwhile counts as nothing; links are not followed."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            try:
                yield path, path.lstat().st_blocks * 512
            except FileNotFoundError:
                continue


def _read() -> Usage | None:
    try:
        note: dict[str, Any] = json.loads((Path(settings.STATE_DIR) / _NOTE).read_text())
        return Usage(at=float(note["at"]), kinds=dict(note["kinds"]), whole=bool(note["whole"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
