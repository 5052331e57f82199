"""How an agent's run ended, from its last word, its exit and its errors: never from one alone."""

from dataclasses import replace

from batches.engines.base import EngineOutcome, failed, unfinished
from batches.engines.ending import how_it_ended, last_line, survivors, with_last_line
from batches.engines.evidence import Evidence
from batches.reasons import Reason
from batches.supervisor.record import ExitRecord

WHAT = "The agent"
_BY_STATUS = {
    401: Reason.AUTH,
    403: Reason.AUTH,
    408: Reason.SERVER_ERROR,
    429: Reason.RATE_LIMITED,
}


def verdict(exit_record: ExitRecord, evidence: Evidence, stderr_tail: bytes) -> EngineOutcome:
    """Success is exit 0 and a good last word; what was done, the diff says."""
    ending = unfinished(exit_record)
    if ending:
        return ending
    if exit_record.survivors:
        return failed(Reason.ENGINE_ERROR, survivors(exit_record))
    if exit_record.code == 0 and evidence.ended_ok:
        if evidence.question:
            return EngineOutcome(kind="blocked", reason=Reason.QUESTION, sentence=evidence.question)
        return EngineOutcome(kind="completed", denials=tuple(evidence.denials))
    reason = None if evidence.ended_ok else reason_of(evidence)
    if reason:
        said = evidence.ended_text or evidence.trouble_text
        outcome = failed(reason, f"{reason.sentence} {said}".strip())
        return replace(outcome, retry_at=_retry_at(exit_record, evidence))
    return _broken(exit_record, evidence, stderr_tail)


def _retry_at(exit_record: ExitRecord, evidence: Evidence) -> float | None:
    if evidence.resets_at is not None:
        return evidence.resets_at
    after = evidence.retry_after_s
    return exit_record.ended_at + after if after is not None and exit_record.ended_at else None


def reason_of(evidence: Evidence) -> Reason | None:
    """What the newest error was, where it is the provider's."""
    status = evidence.trouble_status or 0
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500 or evidence.trouble_server:
        return Reason.SERVER_ERROR
    return Reason.BAD_REQUEST if status >= 400 else None


def _broken(exit_record: ExitRecord, evidence: Evidence, stderr_tail: bytes) -> EngineOutcome:
    if evidence.ended_ok is False:
        said = evidence.ended_text or evidence.trouble_text or last_line(stderr_tail)
        return failed(Reason.ENGINE_ERROR, f"{WHAT} ended with an error: {said}".rstrip(": "))
    if exit_record.signal:
        return failed(Reason.CRASHED, f"{how_it_ended(exit_record, WHAT)}.")
    if exit_record.code == 0:
        return failed(Reason.CRASHED, f"{WHAT} ended in the middle of its work.")
    return failed(Reason.ENGINE_ERROR, with_last_line(how_it_ended(exit_record, WHAT), stderr_tail))
