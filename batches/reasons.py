"""Why a run did not complete: one table of codes, sentences and what a retry may hope for."""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """A code (the member is that string), its sentence, and two flags.

    `infrastructure`: not the task's fault, so retry with back-off and spend no `max_retries`.
    `retryable`: another attempt may succeed; true of every infrastructure reason.
    """

    _value_: str
    sentence: str
    infrastructure: bool
    retryable: bool

    def __new__(cls, code: str, sentence: str, hope: str = "") -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        member.infrastructure = hope == "later"
        member.retryable = hope in ("later", "again")
        return member

    TIMEOUT = "timeout", "The agent was still at work when its time ran out.", "again"
    STALLED = "stalled", "The agent printed nothing for too long and was stopped.", "again"
    ENGINE_MISSING = "engine_missing", "The engine's program is not installed on this host."
    ENGINE_ERROR = "engine_error", "The agent's program ended with an error.", "again"
    AGENT_KILLED = (
        "agent_killed",
        "The agent was killed from outside, perhaps because memory ran out.",
        "later",
    )
    CRASHED = "crashed", "The agent's program broke off.", "again"
    AUTH = "auth", "The model provider refused the engine's credentials."
    RATE_LIMITED = "rate_limited", "The model provider's usage limit was reached.", "later"
    SERVER_ERROR = "server_error", "The model provider failed, several times in a row.", "later"
    BAD_REQUEST = "bad_request", "The model provider did not accept the request."
    REFUSED_PERMISSION = (
        "refused_permission",
        "The agent changed nothing, for it was not allowed to.",
    )
    TURNS = "turns", "The agent took all the turns it had and was not done.", "again"
    LOOP = "loop", "The agent went round in a circle and was stopped.", "again"
    QUESTION = "question", "The agent asks a question that only a person can answer."
    NO_CHANGES = "no_changes", "The agent ended well but changed no file.", "again"
    SETUP_FAILED = "setup_failed", "The tree's environment could not be set up.", "again"
    VETTING_REFUSED = "vetting_refused", "The changes touch what a task may not touch.", "again"
    GATE_FAILED = "gate_failed", "A quality gate failed on the changed tree.", "again"
    CONFLICT = "conflict", "The changes conflict with work that was integrated first.", "again"
    BUDGET = "budget", "The spending limit was reached."
    DEPENDENCY_FAILED = "dependency_failed", "A task that this one depends on did not complete."
    STOPPED_AFTER_FAILURE = (
        "stopped_after_failure",
        "Another task failed first, and the batch stops on the first failure.",
    )
    TASK_MOVED = "task_moved", "Someone moved the task before its turn came."
    CANCELLED = "cancelled", "The batch was cancelled."
    STOPPED = "stopped", "The run was stopped before it ended."
    WORKER_LOST = "worker_lost", "The worker or its supervisor disappeared during the run.", "later"
    STORAGE = "storage", "The server's state directory cannot be written.", "later"
    DISK_FULL = "disk_full", "The server's disk is full.", "later"
    # Most often it is the agent itself that removed it, and it would do so again.
    TREE_LOST = "tree_lost", "The run's working tree disappeared.", "again"
    REPOSITORY_LOST = "repository_lost", "The workspace's repository cannot be found or read."
    CAPTURE_FAILED = "capture_failed", "The changes could not be saved as a commit.", "again"
    INTERNAL_ERROR = "internal_error", "codeframe itself failed; the log has the details.", "again"
