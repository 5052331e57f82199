"""What a run is started with, and what it ended as."""

import json
import re
import resource
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from batches.supervisor.layout import EXIT, SMALLEST_SPOOL


class Cause(StrEnum):
    """Why a run ended. LOST is said by the client alone: a supervisor that left no record."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    STOPPED = "stopped"
    ORPHANED = "orphaned"
    START_FAILED = "start_failed"
    LOST = "lost"


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """`env` is all the agent gets, but for the run's marker; seconds of 0 or None mean no limit.

    `spool_bytes` is per stream; `limits` maps RLIMIT_ names to values. Raises ValueError.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin_path: str | None = None
    deadline_s: float | None = None
    silence_s: float | None = None
    grace_s: float = 10.0
    stop_signal: str = "SIGTERM"
    spool_bytes: int = 64 * 1024 * 1024
    orphan_s: float | None = 600.0
    limits: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "argv", tuple(self.argv))
        if not self.argv or not self.argv[0]:
            raise ValueError("argv is empty")
        if any("\0" in text for text in (*self.argv, *self.env, *self.env.values())):
            raise ValueError("argv and env cannot hold NUL")
        if any("=" in name or not name for name in self.env):
            raise ValueError("a name in env is empty or holds '='")
        if self.stop_signal not in signal.Signals.__members__:
            raise ValueError(f"no such signal: {self.stop_signal}")
        if unknown := [name for name in self.limits if not _is_limit(name)]:
            raise ValueError(f"no such limit: {', '.join(unknown)}")
        if self.spool_bytes < SMALLEST_SPOOL:
            raise ValueError(f"spool_bytes is less than {SMALLEST_SPOOL}")

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"env": dict(self.env), "limits": dict(self.limits)}


def _is_limit(name: str) -> bool:
    return re.fullmatch(r"RLIMIT_[A-Z]+", name) is not None and hasattr(resource, name)


@dataclass(frozen=True, kw_only=True)
class Victim:
    pid: int
    name: str


@dataclass(frozen=True, kw_only=True)
class ExitRecord:
    """`signal` and `code` are the agent's own; times are epoch seconds, `duration_s` monotonic.

    `killed` lists what had to be killed, `survivors` what could not be.
    """

    cause: Cause
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    duration_s: float = 0.0
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    cut_bytes: int = 0
    lost_bytes: int = 0
    killed: tuple[Victim, ...] = ()
    survivors: tuple[Victim, ...] = ()
    cpu_s: float = 0.0
    max_rss_kb: int = 0

    @property
    def succeeded(self) -> bool:
        return self.cause == Cause.EXITED and self.code == 0 and not self.survivors

    @classmethod
    def from_json(cls, note: dict[str, Any]) -> "ExitRecord":
        """A field that a newer supervisor added is no reason to lose the record."""
        values = {name: note[name] for name in cls.__dataclass_fields__ if name in note}
        values["cause"] = Cause(note["cause"])
        for name in ("killed", "survivors"):
            values[name] = victims(note.get(name, []))
        return cls(**values)


def victims(notes: list[dict[str, Any]]) -> tuple[Victim, ...]:
    return tuple(Victim(pid=int(note["pid"]), name=str(note["name"])) for note in notes)


def read_exit(run_dir: Path) -> ExitRecord | None:
    """None while the run has not ended, or when its supervisor died without a word."""
    try:
        text = (run_dir / EXIT).read_text()
    except FileNotFoundError:
        return None
    return ExitRecord.from_json(json.loads(text))
