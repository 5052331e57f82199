"""What the agent's end means: its last word, its exit, its errors, and what it changed."""

from dataclasses import replace
from datetime import UTC, datetime

from batches import paths
from batches.context import RunContext, StageFailed
from batches.engine_setup import kind_of
from batches.engines import evidence as evidences
from batches.engines import load
from batches.engines.base import EngineOutcome, judge
from batches.engines.evidence import Evidence
from batches.models import Finding
from batches.models.run import RunStatus
from batches.models.stage import StageOutcome
from batches.persist import persist
from batches.reasons import Reason
from batches.results import RunResult, ended, failed
from batches.stages.capture import Change
from batches.supervisor import spool
from batches.supervisor.client import ExitRecord
from tasks.events import types
from tasks.text import clip, stored

TAIL_BYTES = 8192
QUESTION_CHARS = 4000
DENIED = "permission_denied"
GRADES = {
    RunStatus.FAILED: StageOutcome.FAILED,
    RunStatus.CANCELLED: StageOutcome.INTERRUPTED,
    RunStatus.LOST: StageOutcome.INTERRUPTED,
}
"""Of the agent's stage; one that asks a question has ended well."""
ASKS_DESPITE = (None, Reason.ENGINE_ERROR, Reason.QUESTION)
"""A question counts when the agent ended by itself, well or not; a crash or a limit comes first."""


def judge_agent(context: RunContext, record: ExitRecord, change: Change) -> None:
    """Raises StageFailed unless the agent did what it was for."""
    run_dir = paths.agent_dir(context.run.id)
    evidence = evidences.from_json(context.run.agent_state.get("evidence") or {})
    _show_denials(context, evidence)
    outcome = load(kind_of(context.batch)).outcome(
        record,
        spool.tail(run_dir, "stdout", TAIL_BYTES).data,
        spool.tail(run_dir, "stderr", TAIL_BYTES).data,
        evidence,
    )
    outcome = _with_question(context, outcome)
    expects = context.task().expects_changes
    _raise_unless_completed(
        context, judge(outcome, changed=change.changed, expects_changes=expects)
    )


def _raise_unless_completed(context: RunContext, outcome: EngineOutcome) -> None:
    """The stage of the agent had ended before its work was looked at: it is told how it ended."""
    if outcome.kind == "completed":
        return
    result = _result(context, outcome)
    if grade := GRADES.get(result.status):
        context.regrade("agent", grade, result.message)
    raise StageFailed(result)


def _result(context: RunContext, outcome: EngineOutcome) -> RunResult:
    if outcome.kind == "stopped":
        stop = context.scope.asked()
        reason, sentence = (stop.reason, stop.sentence) if stop else (Reason.STOPPED, "")
        return ended(RunStatus.CANCELLED, reason, sentence)
    if outcome.kind == "lost":
        return ended(RunStatus.LOST, Reason.WORKER_LOST, outcome.sentence)
    if outcome.kind == "blocked":
        return ended(RunStatus.BLOCKED, Reason.QUESTION, outcome.sentence)
    result = failed(outcome.reason or Reason.ENGINE_ERROR, outcome.sentence)
    return replace(result, retry_at=_moment(outcome.retry_at))


def _moment(epoch: float | None) -> datetime | None:
    """None for a time that no calendar has."""
    try:
        return None if epoch is None else datetime.fromtimestamp(epoch, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _with_question(context: RunContext, outcome: EngineOutcome) -> EngineOutcome:
    """What it left in the file for questions; nothing that it merely said counts as one."""
    if outcome.kind not in ("completed", "failed") or outcome.reason not in ASKS_DESPITE:
        return outcome
    asked = _left_question(context)
    if not asked:
        return outcome
    return EngineOutcome(kind="blocked", reason=Reason.QUESTION, sentence=asked)


def _left_question(context: RunContext) -> str:
    path = paths.question_file(context.run.id)
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        data = file.read(QUESTION_CHARS * 4)
    return clip(stored(data.decode("utf-8", "replace")).strip(), QUESTION_CHARS)


def _show_denials(context: RunContext, evidence: Evidence) -> None:
    """Once, whoever judges again after a crash."""
    if not evidence.denied or Finding.objects.filter(run=context.run, rule=DENIED).exists():
        return
    context.say_later(
        types.RUN_DENIED, {"count": evidence.denied, "denials": list(evidence.denials)}
    )
    findings = [
        Finding(
            run=context.run,
            rule=DENIED,
            severity=Finding.Severity.WARN,
            message=f"The agent was not allowed to: {stored(denial)}",
        )
        for denial in evidence.denials
    ]
    persist(lambda: context.write_with(findings))
