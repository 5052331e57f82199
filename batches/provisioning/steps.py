"""The commands of a stage: each under a supervisor, with a deadline, a transcript and a record."""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from batches.engines.environment import build_environment, prepare_folders, server_path
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.supervisor import client, spool
from batches.supervisor.client import StopRequest
from batches.supervisor.record import Cause, ExitRecord, LaunchSpec

SPOOL_BYTES = 8 * 1024 * 1024
GRACE_S = 5.0
# Nobody takes over a command whose follower is gone: the stage begins anew.
ORPHAN_S = 10.0
STOP_COST_S = GRACE_S + 2.0
"""What one command may take to be gone after a stop: its grace, the kill and its reaping."""
TAIL_BYTES = 1500


class StepOutcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not_run"


@dataclass(frozen=True, kw_only=True)
class Step:
    """`log` is the folder of its whole output, relative to the stage's; `tail` its last part."""

    command: str
    outcome: StepOutcome
    exit_code: int | None = None
    seconds: float = 0.0
    log: str = ""
    tail: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class StepFailed(Exception):
    """The message names the command, how it ended and what it said last."""


class OutOfTime(StepFailed):
    """The stage's own time is over."""


@dataclass(kw_only=True)
class Steps:
    """One per stage, with `deadline_s` for all of it; `on_step` hears of each step as it ends.

    `should_stop` is asked while a command runs, `check` between commands: it raises.
    """

    work: Path
    check: Callable[[], None]
    should_stop: Callable[[], StopRequest | None]
    deadline_s: float
    on_step: Callable[[Step], None] = lambda _: None
    pass_env: tuple[str, ...] = ()
    cache: Path | None = None
    _number: int = 0

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.deadline_s
        self.work.mkdir(mode=0o700, parents=True, exist_ok=True)

    def environment(
        self, surroundings: Surroundings = NOTHING, extra: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Nothing of the server's own virtual environment is in it."""
        home, tmp = self.work / "home", self.work / "tmp"
        prepare_folders(home=home, tmp=tmp)
        cache = {}
        if self.cache is not None:
            self.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            cache = {"XDG_CACHE_HOME": str(self.cache), "npm_config_cache": str(self.cache / "npm")}
        env = build_environment(
            home=home, tmp=tmp, path=server_path(), pass_env=self.pass_env, extra=cache
        )
        return surroundings.applied_to(env) | dict(extra or {})

    def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout_s: float,
        shown: str = "",
        hold_fd: int | None = None,
    ) -> None:
        """Raises StepFailed, and what `check` raises after the command is gone."""
        self.check()
        left = self._ends - time.monotonic()
        if left <= 0:
            raise OutOfTime(f"The stage took longer than its {self.deadline_s:g} s.")
        self._number += 1
        folder = self.work / str(self._number)
        spec = LaunchSpec(
            argv=argv,
            cwd=str(cwd),
            env=dict(env),
            deadline_s=min(timeout_s, left),
            grace_s=GRACE_S,
            spool_bytes=SPOOL_BYTES,
            orphan_s=ORPHAN_S,
        )
        handle = client.start(folder, spec, hold_fd=hold_fd)
        record = client.follow(
            handle, on_output=lambda _: None, should_stop=self.should_stop, offsets={}
        )
        client.forget_environment(folder)
        step = _step(shown or " ".join(argv), folder, record)
        self.on_step(step)
        if step.outcome is StepOutcome.INTERRUPTED:
            self.check()
        if step.outcome is not StepOutcome.DONE:
            raise StepFailed(_sentence(step, spec))

    def skip(self, shown: str) -> None:
        """Tells of a command that is not started any more."""
        self.on_step(Step(command=shown, outcome=StepOutcome.NOT_RUN))

    def tidy(self) -> None:
        """The homes go, the transcripts stay."""
        for name in ("home", "tmp"):
            shutil.rmtree(self.work / name, ignore_errors=True)


def end_left_over(work: Path) -> None:
    """What a worker that died has left running there is stopped, and its folders go."""
    if not work.is_dir():
        return
    for folder in work.iterdir():
        left = client.adopt(folder) if folder.name.isdigit() else None
        if left is not None:
            client.follow(left, on_output=lambda _: None, should_stop=_at_once, offsets={})
    shutil.rmtree(work)


def _at_once() -> StopRequest:
    return StopRequest("the stage begins anew", grace_s=0)


def _step(shown: str, folder: Path, record: ExitRecord) -> Step:
    outcomes = {
        Cause.STOPPED: StepOutcome.INTERRUPTED,
        Cause.TIMEOUT: StepOutcome.TIMED_OUT,
    }
    outcome = outcomes.get(record.cause, StepOutcome.FAILED)
    if record.succeeded:
        outcome = StepOutcome.DONE
    return Step(
        command=shown,
        outcome=outcome,
        exit_code=record.code,
        seconds=round(record.duration_s, 3),
        log=folder.name,
        tail=_tail(folder) or record.reason,
    )


def _tail(folder: Path) -> str:
    parts = (spool.tail(folder, name, TAIL_BYTES).data for name in ("stdout", "stderr"))
    return "\n".join(part.decode(errors="replace").strip() for part in parts if part.strip())


def _sentence(step: Step, spec: LaunchSpec) -> str:
    said = next((line for line in reversed(step.tail.splitlines()) if line.strip()), "")
    how = f"ended with {step.exit_code}"
    if step.outcome is StepOutcome.TIMED_OUT:
        how = f"did not end within {spec.deadline_s:g} s"
    elif step.exit_code is None:
        how = "did not run to its end"
    return f"{step.command}: it {how}{f': {said.strip()[:300]}' if said else ''}"
