"""Run gates on a tree, one after another, each under a supervisor of its own."""

import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from batches.engines.environment import absolute_path
from batches.gates.catalog import Gate
from batches.gates.evidence import Evidence, Reading, text
from batches.gates.launch import launch_spec
from batches.gates.outcomes import GateOutcome, GateResult
from batches.gates.tools import Tool, find_tool
from batches.gates.tree_state import changed_paths, tree_state
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.supervisor import client, spool
from batches.supervisor.client import Chunk, StopRequest
from batches.supervisor.record import Cause, ExitRecord

READ_BYTES = 1024 * 1024
TAIL_BYTES = 16 * 1024

ShouldStop = Callable[[], StopRequest | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    tree: Path
    run_dir: Path
    path: str
    repository: Path | None
    should_stop: ShouldStop
    surroundings: Surroundings


def run_gates(
    gates: Sequence[Gate],
    *,
    tree: Path,
    run_dir: Path,
    path: str,
    should_stop: ShouldStop,
    on_result: Callable[[GateResult], None] | None = None,
    repository: Path | None = None,
    surroundings: Surroundings = NOTHING,
) -> list[GateResult]:
    """One result per gate, whatever happens; raises SupervisorStartError when the host is unfit.

    `surroundings` are of the environment made for the tree. `repository` is where it came from,
    whose virtual environment serves when the tree has none. After a stop the rest is listed as
    cancelled.
    """
    place = _Place(
        tree=tree,
        run_dir=run_dir,
        path=absolute_path(path),
        repository=repository,
        should_stop=should_stop,
        surroundings=surroundings,
    )
    results: list[GateResult] = []
    stopped = False
    before = tree_state(tree)
    for gate in gates:
        stopped = stopped or should_stop() is not None
        result = _cancelled(gate) if stopped else _result(gate, place)
        stopped = result.outcome is GateOutcome.CANCELLED
        if not stopped:
            after = tree_state(tree)
            result = _naming_changes(result, changed_paths(tree, before, after))
            before = after
        results.append(result)
        if on_result:
            on_result(result)
    return results


def _result(gate: Gate, place: _Place) -> GateResult:
    tool = find_tool(
        gate.program,
        tree=place.tree,
        repository=place.repository,
        path=place.path,
        bins=place.surroundings.bins,
    )
    if tool is None:
        return GateResult(
            name=gate.name,
            outcome=GateOutcome.TOOL_MISSING,
            summary=f"{gate.program} is neither in the repository's environment nor on the PATH",
        )
    return _run(gate, tool, place)


def _run(gate: Gate, tool: Tool, place: _Place) -> GateResult:
    folder, record = _supervised(gate, tool, place)
    if record.cause is Cause.LOST:
        # Its supervisor died, which says nothing about the tree: once more, not a verdict.
        folder, record = _supervised(gate, tool, place)
    evidence = Evidence(
        code=-1 if record.code is None else record.code,
        folder=folder,
        stdout=spool.tail(folder, "stdout", READ_BYTES).data,
        stderr=spool.tail(folder, "stderr", READ_BYTES).data,
    )
    reading = _unfinished(gate, record) or gate.read(evidence)
    for name in ("home", "tmp", "cache"):
        # What cannot be removed now goes with the run's folder.
        shutil.rmtree(folder / name, ignore_errors=True)
    return GateResult(
        name=gate.name,
        outcome=reading.outcome,
        summary=reading.summary,
        exit_code=record.code,
        duration_s=record.duration_s,
        findings=reading.findings,
        output_tail=_output_tail(evidence),
    )


def _supervised(gate: Gate, tool: Tool, place: _Place) -> tuple[Path, ExitRecord]:
    folder = _empty_folder(place.run_dir / "gates" / gate.name)
    spec = launch_spec(
        gate,
        tool,
        tree=place.tree,
        folder=folder,
        path=place.path,
        surroundings=place.surroundings,
    )
    return folder, client.run_to_end(folder, spec, should_stop=place.should_stop)


def _empty_folder(folder: Path) -> Path:
    """A worker that died may have left the same gate running there; it is stopped first."""
    if folder.exists():
        left = client.adopt(folder)
        if left:
            client.follow(left, on_output=_ignore, should_stop=_at_once, offsets={})
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    return folder


def _at_once() -> StopRequest:
    return StopRequest("the gate is run again", grace_s=0)


def _ignore(chunk: Chunk) -> None:
    """The output stays in the spool."""


def _unfinished(gate: Gate, record: ExitRecord) -> Reading | None:
    """The reading of an end that the program did not choose."""
    sentences = {
        Cause.TIMEOUT: (GateOutcome.TIMED_OUT, f"it did not end within {gate.timeout_s:g} s"),
        Cause.STOPPED: (GateOutcome.CANCELLED, "it was stopped"),
        Cause.START_FAILED: (
            GateOutcome.TOOL_MISSING,
            f"it could not be started: {record.reason}",
        ),
    }
    if record.cause in sentences:
        return Reading(*sentences[record.cause])
    if record.cause is not Cause.EXITED:
        return Reading(GateOutcome.ERROR, f"its supervisor was lost ({record.cause})")
    if record.signal:
        name = signal.strsignal(record.signal) or "unknown"
        return Reading(GateOutcome.ERROR, f"it was killed by signal {record.signal} ({name})")
    return None


def _cancelled(gate: Gate) -> GateResult:
    return GateResult(
        name=gate.name, outcome=GateOutcome.CANCELLED, summary="not run: the run was stopped"
    )


def _naming_changes(result: GateResult, changed: tuple[str, ...]) -> GateResult:
    if not changed:
        return result
    more = ", …" if len(changed) > 1 else ""
    summary = f"{result.summary} (it changed the tree: {changed[0]}{more})"
    return replace(result, summary=summary, tree_changed=changed)


def _output_tail(evidence: Evidence) -> str:
    """Both streams, each cut to half of the room when the other needs its own."""
    room = TAIL_BYTES - min(len(evidence.stderr), TAIL_BYTES // 2)
    out = evidence.stdout[-room:]
    err = evidence.stderr[-(TAIL_BYTES - len(out)) :]
    return "\n".join(text(part).rstrip() for part in (out, err) if part)
