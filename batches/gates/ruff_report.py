"""What ruff said, from its one-line-per-complaint output."""

import re

from batches.gates.evidence import MAX_FINDINGS, Evidence, Reading, last_line, shorten, text
from batches.gates.outcomes import Finding, GateOutcome

_COMPLAINT = re.compile(r"(?P<file>.+?):(?P<line>\d+):\d+: (?P<code>[\w-]+):? (?P<message>.*)")
_COUNT = re.compile(r"Found (\d+) error")


def read_ruff(evidence: Evidence) -> Reading:
    if evidence.code == 0 and b"No Python files found" in evidence.stderr:
        return Reading(GateOutcome.NOTHING_COLLECTED, "no Python files to check")
    if evidence.code == 0:
        return Reading(GateOutcome.PASSED, "no complaints")
    if evidence.code != 1:
        return Reading(GateOutcome.ERROR, f"ruff could not check: {last_line(evidence.stderr)}")
    output = text(evidence.stdout)
    findings = [_finding(match) for match in map(_COMPLAINT.fullmatch, output.split("\n")) if match]
    counted = _COUNT.search(output)
    total = int(counted[1]) if counted else len(findings)
    noun = "complaint" if total == 1 else "complaints"
    return Reading(GateOutcome.FAILED, f"{total} {noun}", tuple(findings[:MAX_FINDINGS]))


def _finding(match: re.Match[str]) -> Finding:
    return Finding(
        name=match["code"],
        message=shorten(match["message"]),
        file=match["file"],
        line=int(match["line"]),
    )
