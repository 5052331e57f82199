"""The seam between a run and the program that does its work."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from batches.engines.evidence import Evidence
from batches.engines.parsing import Parser
from batches.reasons import Reason
from batches.supervisor.record import Cause, ExitRecord

OutcomeKind = Literal["completed", "blocked", "failed", "stopped", "lost"]
Options = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineRequest:
    prompt_file: Path
    tree: Path
    home: Path
    run_dir: Path
    task_id: str
    run_id: str
    batch_id: str
    attempt: int = 1
    model: str = ""
    session_id: str = ""
    """Of the attempt to go on from, in the same `home`; empty begins anew."""
    question_file: Path | None = None
    """Where the agent may leave a question for a person."""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """What the supervisor needs; `note` is a line for the run's log."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdin_path: Path | None = None
    stop_signal: str = "SIGTERM"
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineOutcome:
    """`reason` is None exactly when the kind is completed."""

    kind: OutcomeKind
    reason: Reason | None = None
    sentence: str = ""
    denials: tuple[str, ...] = ()
    """What the agent was not allowed to do."""
    retry_at: float | None = None
    """When the provider will take requests again, in epoch seconds, if it said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Why an engine cannot be used as it is set up."""

    reason: Reason
    sentence: str


class LaunchRefusedError(Exception):
    """The engine cannot be started for this request."""

    def __init__(self, *, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


class Engine(Protocol):
    name: str
    readable: bool = True
    """People can read its standard output as it is; else it is shown as what its parser finds."""

    def check(self, options: Options) -> Problem | None:
        """Before any tree is made: are the options sound, and is the program there?"""
        ...

    def prepare(self, request: EngineRequest) -> Launch:
        """Raises LaunchRefusedError."""
        ...

    def parser(
        self, options: Options, *, model: str = "", state: Mapping[str, Any] | None = None
    ) -> Parser | None:
        """Reads what the program prints; None when its output is for people alone."""
        return None

    def has_session(self, home: Path, session_id: str) -> bool:
        """Whether `home` still holds it."""
        return True

    def provider_of(self, model: str) -> str:
        """Who serves a model, as price lists name them; empty where that is not known."""
        return ""

    def outcome(
        self,
        exit_record: ExitRecord,
        stdout_tail: bytes,
        stderr_tail: bytes,
        evidence: Evidence,
    ) -> EngineOutcome: ...


def judge(outcome: EngineOutcome, *, changed: bool, expects_changes: bool) -> EngineOutcome:
    """An agent that says it is done and changed nothing has failed, unless that was expected."""
    if outcome.kind != "completed" or changed or not expects_changes:
        return outcome
    if outcome.denials:
        denied = "; ".join(outcome.denials[:3])
        reason = Reason.REFUSED_PERMISSION
        return failed(reason, f"{reason.sentence} {denied}")
    return failed(Reason.NO_CHANGES)


def failed(reason: Reason, sentence: str = "") -> EngineOutcome:
    return EngineOutcome(kind="failed", reason=reason, sentence=sentence or reason.sentence)


def unfinished(exit_record: ExitRecord) -> EngineOutcome | None:
    """The outcome of any end that the program did not choose; None when it exited by itself."""
    if exit_record.cause == "exited" and exit_record.signal == signal.SIGKILL:
        return failed(Reason.AGENT_KILLED)
    ending = _ENDINGS.get(exit_record.cause)
    if ending is None:
        return None
    kind, reason = ending
    said = f" {exit_record.reason}" if exit_record.cause is Cause.START_FAILED else ""
    return EngineOutcome(kind=kind, reason=reason, sentence=reason.sentence + said)


# A missing program is refused before the start, so a failed start is the system's doing.
_ENDINGS: dict[Cause, tuple[OutcomeKind, Reason]] = {
    Cause.TIMEOUT: ("failed", Reason.TIMEOUT),
    Cause.STALLED: ("failed", Reason.STALLED),
    Cause.STOPPED: ("stopped", Reason.STOPPED),
    Cause.ORPHANED: ("lost", Reason.WORKER_LOST),
    Cause.LOST: ("lost", Reason.WORKER_LOST),
    Cause.START_FAILED: ("failed", Reason.ENGINE_ERROR),
}


def variables_of(request: EngineRequest) -> dict[str, str]:
    """The variables by which every program knows what it works on."""
    told = {
        "CODEFRAME_TASK_ID": request.task_id,
        "CODEFRAME_RUN_ID": request.run_id,
        "CODEFRAME_BATCH_ID": request.batch_id,
        "CODEFRAME_ATTEMPT": str(request.attempt),
        "CODEFRAME_PROMPT_FILE": str(request.prompt_file),
        "CODEFRAME_WORKSPACE": str(request.tree),
        "CODEFRAME_MODEL": request.model,
        "CODEFRAME_QUESTION_FILE": str(request.question_file or ""),
    }
    return {name: value for name, value in told.items() if value}
