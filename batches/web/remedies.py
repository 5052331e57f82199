"""What a person can do about a run that did not complete: one sentence, and the buttons."""

from dataclasses import dataclass

from batches.models import Run
from batches.models.batch import RESUMABLE
from batches.models.run import LIVE, RunStatus
from batches.reasons import Reason
from batches.web.output.telling import telling_stream

ADVICE: dict[str, str] = {
    Reason.TIMEOUT: "Split the task, or start it again with a longer time limit.",
    Reason.STALLED: "See what it printed last; a longer limit for silence may be all it needs.",
    Reason.ENGINE_MISSING: "Install the program on the server, or choose another engine.",
    Reason.ENGINE_ERROR: "Its last lines say what went wrong; put that right and retry.",
    Reason.AGENT_KILLED: "See whether the server has memory left; then retry.",
    Reason.AUTH: "Sign the engine in again on the server, then retry.",
    Reason.RATE_LIMITED: "Wait until the provider's limit is reset, then retry.",
    Reason.NO_CHANGES: "Say in the task what is to change, or that it need change nothing.",
    Reason.SETUP_FAILED: "Mend the project's set-up, or set environment.tools: none; then retry.",
    Reason.VETTING_REFUSED: "The findings name the files; change the task, or allow them.",
    Reason.GATE_FAILED: "The failed gate says what is wrong; a retry tells it to the agent.",
    Reason.CONFLICT: "A retry does it again on top of the work that was integrated first.",
    Reason.BUDGET: "Raise the limit, then resume the batch.",
    Reason.DEPENDENCY_FAILED: "Mend the task that it depends on; a resume then does both.",
    Reason.STOPPED_AFTER_FAILURE: "Mend the task that failed; a resume then does the rest.",
    Reason.TASK_MOVED: "Someone changed the task meanwhile; resume to run it as it is now.",
    Reason.CANCELLED: "Nothing is lost: a resume runs what did not complete.",
    Reason.STOPPED: "Nothing is lost: a retry does it again.",
    Reason.WORKER_LOST: "A retry does it again.",
    Reason.STORAGE: "See that the state directory can be written, then retry.",
    Reason.DISK_FULL: "Make room on the server's disk, then retry.",
    Reason.REPOSITORY_LOST: "Put the repository back where the workspace expects it.",
    Reason.CAPTURE_FAILED: "Its tree is kept; see the events for why git refused it.",
    Reason.INTERNAL_ERROR: "The server's log has the details; a retry does it again.",
}
TOLD_BY_OUTPUT = frozenset(
    {Reason.ENGINE_ERROR, Reason.TIMEOUT, Reason.STALLED, Reason.AGENT_KILLED, Reason.AUTH}
)
"""Reasons for which the last lines of the output are the evidence."""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    advice: str
    may_retry: bool
    see: str
    """The tab with the evidence; empty for none."""
    stream: str
    """Of the output, where that is the evidence."""


def remedy(run: Run, *, may_operate: bool) -> Remedy | None:
    """None for a run that is live or went well, and for one that a later attempt replaced."""
    if run.status in LIVE or run.status == RunStatus.COMPLETED or run.superseded:
        return None
    see = _evidence(run.reason)
    return Remedy(
        advice=ADVICE.get(run.reason, ""),
        may_retry=may_operate and run.task_id is not None and run.batch.status in RESUMABLE,
        see=see,
        stream=telling_stream(run) if see == "output" else "",
    )


def _evidence(reason: str) -> str:
    if reason in (Reason.GATE_FAILED, Reason.VETTING_REFUSED):
        return "checks"
    if reason in (Reason.CAPTURE_FAILED, Reason.SETUP_FAILED):
        return "events"
    return "output" if reason in TOLD_BY_OUTPUT else ""
