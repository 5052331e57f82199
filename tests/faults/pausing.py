"""Makes the worker's code wait at a point, once, while a file asks for it.

`<workspace>.<point>.pause` becomes `.reached`, holding the process's pid; the thread then waits
for the file `go`. Installed in the worker by tests.faults.app, before any process is forked.
"""

import os
import pkgutil
import threading
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

from tests.faults.points import POINTS, Point

FOLDER = "CODEFRAME_TEST_PAUSES"
BACKOFF = "CODEFRAME_TEST_BACKOFF"
POLL_S = 0.02
_here = threading.local()


def install() -> None:
    folder = Path(os.environ[FOLDER])
    for point in POINTS:
        _replace(point.target, partial(_pausing, point, folder))
    # Which workspace a thread works for: the conductor learns it from its lease, a slot's thread
    # from the context it is given. Wrapped last, so that it is known before any pause.
    _replace("batches.lifecycle:claim_batch", _knowing_by_lease)
    _replace("batches.attempt:_attempt", _knowing_by_context)
    for role in ("monitor", "pusher"):
        _replace(f"django_q.cluster:{role}", partial(_telling, role, folder))
    _note_queue_workers(folder)
    _shorten_backoff(os.environ.get(BACKOFF))


def _shorten_backoff(seconds: str | None) -> None:
    """So that a test of the last attempt need not wait for minutes."""
    from batches import retry

    if seconds:
        retry.BACKOFF_S = (float(seconds),) * 3


def _replace(target: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    module, _, path = target.partition(":")
    owner_path, _, name = path.rpartition(".")
    owner = pkgutil.resolve_name(f"{module}:{owner_path}" if owner_path else module)
    setattr(owner, name, wrap(getattr(owner, name)))


def _pausing(point: Point, folder: Path, work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def paused(*args: Any, **kwargs: Any) -> Any:
        if point.before and point.applies(*args, **kwargs):
            _pause(folder, point.name)
        result = work(*args, **kwargs)
        if not point.before and point.applies(*args, **kwargs):
            _learn(result)
            _pause(folder, point.name)
        return result

    return paused


def _pause(folder: Path, point: str) -> None:
    workspace = getattr(_here, "workspace", None)
    wanted = folder / f"{workspace}.{point}.pause"
    try:
        wanted.rename(wanted.with_suffix(".taken"))
    except FileNotFoundError:
        return
    note = wanted.with_suffix(".note")
    note.write_text(str(os.getpid()))
    note.rename(wanted.with_suffix(".reached"))
    while not (folder / "go").exists():
        time.sleep(POLL_S)


def _learn(result: Any) -> None:
    workspace_id = getattr(result, "workspace_id", None)
    if workspace_id is not None:
        _here.workspace = workspace_id.hex


def _knowing_by_lease(work: Callable[..., Any]) -> Callable[..., Any]:
    def claim(**kwargs: Any) -> Any:
        result = work(**kwargs)
        _learn(result)
        return result

    return claim


def _knowing_by_context(work: Callable[..., Any]) -> Callable[..., Any]:
    def attempt(context: Any) -> Any:
        _learn(context.lease)
        return work(context)

    return attempt


def _telling(role: str, folder: Path, work: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(work)
    def told(*args: Any, **kwargs: Any) -> Any:
        (folder / f"{os.getpid()}.{role}").touch()
        return work(*args, **kwargs)

    return told


def _note_queue_workers(folder: Path) -> None:
    from django_q.signals import post_spawn

    def note(**_: Any) -> None:
        (folder / f"{os.getpid()}.worker").touch()

    post_spawn.connect(note, weak=False)
