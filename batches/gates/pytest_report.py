"""What a run of pytest proved: its exit code read together with its JUnit report."""

import io
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field

from batches.gates.evidence import (
    MAX_FINDINGS,
    Evidence,
    Reading,
    last_line,
    read_regular,
    shorten,
)
from batches.gates.outcomes import Finding, GateOutcome

REPORT = "junit.xml"
_MAX_REPORT_BYTES = 64 * 1024 * 1024
_KINDS = {"failure": "failed", "error": "error", "skipped": "skipped"}
_SHOWN = ("passed", "failed", "error", "skipped")

# https://docs.pytest.org/en/stable/reference/exit-codes.html
_ENDED_BEFORE_TESTS = {
    3: (GateOutcome.ERROR, "pytest had an internal error"),
    4: (GateOutcome.ERROR, "pytest could not be started as it is configured"),
    5: (GateOutcome.NOTHING_COLLECTED, "no tests were collected"),
}


@dataclass(slots=True)
class Report:
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def broken(self) -> int:
        return self.counts["failed"] + self.counts["error"]

    def __str__(self) -> str:
        said = [f"{count} {kind}" for kind in _SHOWN if (count := self.counts[kind])]
        return ", ".join(said) or "no tests ran"


def read_pytest(evidence: Evidence) -> Reading:
    code = evidence.code
    if code in _ENDED_BEFORE_TESTS:
        outcome, summary = _ENDED_BEFORE_TESTS[code]
        said = last_line(evidence.stderr) if outcome is GateOutcome.ERROR else ""
        return Reading(outcome, f"{summary}{f': {said}' if said else ''}")
    report = _report(evidence)
    if report is None:
        return _without_report(evidence)
    return Reading(_outcome(code, report), str(report), tuple(report.findings))


def _outcome(code: int, report: Report) -> GateOutcome:
    # A plug-in or a conftest can turn the exit code to 0; the report then still has the failures.
    if report.broken or code in (1, 2):
        return GateOutcome.FAILED
    if code != 0:
        return GateOutcome.ERROR
    return GateOutcome.PASSED if report.counts["passed"] else GateOutcome.NOTHING_COLLECTED


def _without_report(evidence: Evidence) -> Reading:
    if b"No module named pytest" in evidence.stderr:
        return Reading(GateOutcome.TOOL_MISSING, "pytest is not installed in that environment")
    # Code under test that calls os._exit ends pytest with any code it likes, 0 too.
    return Reading(
        GateOutcome.ERROR, f"pytest ended with exit code {evidence.code} and no readable report"
    )


def _report(evidence: Evidence) -> Report | None:
    content = read_regular(evidence.folder / REPORT, max_bytes=_MAX_REPORT_BYTES)
    if content is None:
        return None
    report = Report()
    try:
        for _, element in ET.iterparse(io.BytesIO(content)):  # noqa: S314
            if element.tag == "testcase":
                _add(report, element)
                element.clear()
    except ET.ParseError:
        return None
    return report


def _add(report: Report, case: ET.Element) -> None:
    problems = [child for child in case if child.tag in _KINDS]
    kind = _KINDS[problems[0].tag] if problems else "passed"
    report.counts[kind] += 1
    if kind in ("failed", "error") and len(report.findings) < MAX_FINDINGS:
        report.findings.append(_finding(case, problems[0]))


def _finding(case: ET.Element, problem: ET.Element) -> Finding:
    line = case.get("line", "")
    names = (case.get("classname"), case.get("name"))
    return Finding(
        name=shorten(".".join(name for name in names if name)),
        message=shorten(_message(problem)),
        file=case.get("file"),
        line=int(line) + 1 if line.isdecimal() else None,  # the report counts lines from 0
    )


def _message(problem: ET.Element) -> str:
    """The assertion; a collection error has its cause only in the text, in lines led by E."""
    causes = [line[1:].strip() for line in (problem.text or "").splitlines() if line[:2] == "E "]
    if problem.tag == "error" and causes:
        return causes[-1]
    return problem.get("message") or (causes[0] if causes else "")
