"""How a run ended, as the attempt hands it to the conductor."""

import errno
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from batches.models import Stage
from batches.models.run import RunStatus
from batches.reasons import Reason
from tasks.workspaces.git import DiskFull, GitError, NotARepository, RepositoryGone


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """`facts` are further columns of the run, `stage` its last one, with their ends to be written
    together with the run's end."""

    status: RunStatus
    reason: Reason | None = None
    message: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    stage: Stage | None = None
    retry_at: datetime | None = None
    """When the provider that refused will take requests again, if it said."""


def completed(message: str = "", **facts: Any) -> RunResult:
    return RunResult(status=RunStatus.COMPLETED, message=message, facts=facts)


def ended(status: RunStatus, reason: Reason, message: str = "", **facts: Any) -> RunResult:
    return RunResult(status=status, reason=reason, message=message or reason.sentence, facts=facts)


def failed(reason: Reason, message: str = "", **facts: Any) -> RunResult:
    return ended(RunStatus.FAILED, reason, message, **facts)


def of_git_error(error: GitError, *, otherwise: Reason = Reason.INTERNAL_ERROR) -> RunResult:
    for kind, reason in _GIT_REASONS.items():
        if isinstance(error, kind):
            return failed(reason, str(error))
    return failed(otherwise, str(error))


def of_os_error(error: OSError) -> RunResult:
    """What the server's own files refused, said with their path."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    where = f"{error.filename}: " if error.filename else ""
    reason = Reason.DISK_FULL if full else Reason.STORAGE
    return failed(reason, f"{where}{error.strerror or error}")


_GIT_REASONS: dict[type[GitError], Reason] = {
    DiskFull: Reason.DISK_FULL,
    RepositoryGone: Reason.REPOSITORY_LOST,
    NotARepository: Reason.REPOSITORY_LOST,
}
