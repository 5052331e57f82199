"""What a gate's program left behind, and what a reader makes of it."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from batches.gates.outcomes import Finding, GateOutcome

MAX_FINDINGS = 200
MAX_MESSAGE_CHARS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """`stdout` and `stderr` are the last part of each; `folder` is the gate's own."""

    code: int
    folder: Path
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    outcome: GateOutcome
    summary: str
    findings: tuple[Finding, ...] = ()


def by_exit_code(evidence: Evidence) -> Reading:
    """For commands that codeframe knows nothing more about."""
    if evidence.code == 0:
        return Reading(GateOutcome.PASSED, "exit code 0")
    said = last_line(evidence.stderr) or last_line(evidence.stdout)
    return Reading(GateOutcome.FAILED, f"exit code {evidence.code}{f': {said}' if said else ''}")


def text(data: bytes) -> str:
    """Readable whatever the bytes; without NUL, which PostgreSQL cannot store."""
    return data.decode(errors="replace").replace("\0", "\ufffd")


def last_line(data: bytes) -> str:
    lines = (line.strip() for line in reversed(text(data).split("\n")))
    return shorten(next((line for line in lines if line), ""))


def shorten(message: str) -> str:
    if len(message) <= MAX_MESSAGE_CHARS:
        return message
    return message[: MAX_MESSAGE_CHARS - 1] + "…"


def read_regular(path: Path, *, max_bytes: int) -> bytes | None:
    """The content of an ordinary file; None for anything else, and for more than `max_bytes`.

    The repository's own code may have put a pipe or a device there, which would block a plain open.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
            return None
        content = file.read(max_bytes + 1)
    return content if len(content) <= max_bytes else None
