"""Which earlier attempt an attempt goes on from: its agent's session, and the work it left."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batches import paths
from batches.engine_setup import kind_of
from batches.engines import load
from batches.engines.base import Engine
from batches.models import Batch, Run
from batches.reasons import Reason

GOES_ON_AFTER = frozenset(
    {
        Reason.QUESTION,
        Reason.GATE_FAILED,
        Reason.VETTING_REFUSED,
        Reason.RATE_LIMITED,
        Reason.SERVER_ERROR,
        Reason.TURNS,
        Reason.BUDGET,
    }
)
"""After a crash, a time-out or silence the session itself may be what is wrong: then anew."""


@dataclass(frozen=True, kw_only=True)
class Session:
    session_id: str = ""
    home: Path
    home_run: Any = None
    carried: dict[str, Any]
    """What the reader of its output knew at the session's last end."""


def earlier(run: Run, engine: Engine) -> Run | None:
    """The attempt before, when this one can go on from it."""
    if run.attempt < 2 or run.task_id is None:
        return None
    before = Run.objects.filter(
        batch_id=run.batch_id, task_id=run.task_id, attempt=run.attempt - 1
    ).first()
    if before is None or before.reason not in GOES_ON_AFTER or not before.session_id:
        return None
    home = _home(before.session_home or before.id)
    kept = home.is_dir() and engine.has_session(home, before.session_id)
    return before if kept and not before.tree_kept else None


def session_of(run: Run, batch: Batch) -> Session:
    """Of the attempt that `run.continues`, else a new one in the run's own folder."""
    before = Run.objects.filter(id=run.continues).first() if run.continues else None
    if before is None:
        return Session(home=_home(run.id), home_run=run.id, carried={})
    home_run = before.session_home or before.id
    engine = load(kind_of(batch))
    known = before.agent_state.get("parser") or {}
    parser = engine.parser(batch.engine_options, model=batch.model, state=known)
    return Session(
        session_id=before.session_id,
        home=_home(home_run),
        home_run=home_run,
        carried=parser.carried() if parser else {},
    )


def _home(run_id: Any) -> Path:
    return paths.run_dir(run_id) / "home"
