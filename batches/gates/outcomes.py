"""What a gate can say, and what a list of gates says together."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class GateOutcome(StrEnum):
    """Only PASSED is a pass."""

    PASSED = "passed"
    FAILED = "failed"
    NOTHING_COLLECTED = "nothing_collected"
    TOOL_MISSING = "tool_missing"
    TIMED_OUT = "timed_out"
    ERROR = "error"
    CANCELLED = "cancelled"


class VerificationState(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    WAIVED = "waived"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One complaint of a gate; `file` is relative to the tree where it can be."""

    name: str
    message: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """`tree_changed` names what the gate wrote into the tree (the first few paths)."""

    name: str
    outcome: GateOutcome
    summary: str
    exit_code: int | None = None
    duration_s: float = 0.0
    findings: tuple[Finding, ...] = ()
    output_tail: str = ""
    tree_changed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    state: VerificationState
    reason: str


# The first row with a match decides.
_WEIGHTS: tuple[tuple[frozenset[GateOutcome], VerificationState], ...] = (
    (
        frozenset({GateOutcome.FAILED, GateOutcome.TIMED_OUT, GateOutcome.ERROR}),
        VerificationState.FAILED,
    ),
    (frozenset({GateOutcome.CANCELLED}), VerificationState.UNVERIFIED),
    (
        frozenset({GateOutcome.NOTHING_COLLECTED, GateOutcome.TOOL_MISSING}),
        VerificationState.UNVERIFIED,
    ),
)


def summarize(results: Sequence[GateResult], *, waived_by: str | None = None) -> Verification:
    """`waived_by` names who declared that no gates shall run."""
    if waived_by is not None and not results:
        return Verification(
            state=VerificationState.WAIVED, reason=f"Declared without gates by {waived_by}."
        )
    if not results:
        return Verification(state=VerificationState.UNVERIFIED, reason="No gates found.")
    for outcomes, state in _WEIGHTS:
        deciding = [result for result in results if result.outcome in outcomes]
        if deciding:
            return Verification(state=state, reason=_named(deciding))
    return Verification(state=VerificationState.PASSED, reason=_named(results))


def _named(results: Sequence[GateResult]) -> str:
    return "; ".join(f"{result.name}: {result.summary}" for result in results)
