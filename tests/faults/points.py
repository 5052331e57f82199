"""The boundaries between two steps of a batch, in their order: where a kill may fall."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def _of_agent(run_dir: Path, *_: Any, **__: Any) -> bool:
    return run_dir.name == "agent"


def _of_gate(run_dir: Path, *_: Any, **__: Any) -> bool:
    return run_dir.parent.name == "gates" and not _of_validation(run_dir)


def _of_validation(run_dir: Path, *_: Any, **__: Any) -> bool:
    return "validations" in run_dir.parts


def _any_call(*_: Any, **__: Any) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Point:
    """`before` or `after` a call of `target`; `alive` names what runs under a supervisor then."""

    name: str
    says: str
    target: str
    before: bool = False
    applies: Callable[..., bool] = _any_call
    alive: str = ""


CLIENT = "batches.supervisor.client"
POINTS = (
    Point(
        name="claimed",
        says="a worker has claimed the batch",
        target="batches.lifecycle:claim_batch",
    ),
    Point(
        name="started",
        says="the run is RUNNING, nothing is made for it",
        target="batches.lifecycle:start_run",
    ),
    Point(
        name="tree-begin",
        says="the run's tree is about to be made",
        target="batches.integration.trees:create",
        before=True,
    ),
    Point(
        name="tree-end",
        says="the tree is made, its base not yet recorded",
        target="batches.integration.trees:create",
    ),
    Point(
        name="agent-noted",
        says="the start is recorded, no supervisor yet",
        target=f"{CLIENT}:start",
        before=True,
        applies=_of_agent,
    ),
    Point(
        name="agent-prepared",
        says="the run folder is prepared, the supervisor not yet spawned",
        target="batches.supervisor.starting:_spawn",
        before=True,
        applies=_of_agent,
    ),
    Point(
        name="agent-launched",
        says="the supervisor is spawned, nobody follows yet",
        target=f"{CLIENT}:start",
        applies=_of_agent,
        alive="agent",
    ),
    Point(
        name="agent-output",
        says="the agent is at work, some output is recorded",
        target="batches.output:OutputRecorder._emit",
        alive="agent",
    ),
    Point(
        name="agent-ended",
        says="the agent has ended, no row says so",
        target=f"{CLIENT}:follow",
        applies=lambda handle, **_: _of_agent(handle.run_dir),
    ),
    Point(
        name="capture-begin",
        says="the agent's work is about to be captured",
        target="batches.integration.capture:capture",
        before=True,
    ),
    Point(
        name="capture-taken",
        says="the capture's ref is written, the row is not",
        target="batches.integration.capture:capture",
    ),
    Point(
        name="vet",
        says="the change is about to be vetted",
        target="batches.integration.vetting:vet",
        before=True,
    ),
    Point(
        name="gates-running",
        says="a gate runs on the tree",
        target=f"{CLIENT}:start",
        applies=_of_gate,
        alive="gate",
    ),
    Point(
        name="gates-done",
        says="the gates have ended, the verdict is not recorded",
        target="batches.stages.gates:check_tree",
    ),
    Point(
        name="integrate-prepared",
        says="the merge is recorded, the integration branch has not moved",
        target="batches.place:Place.advance",
        before=True,
    ),
    Point(
        name="integrate-moved",
        says="the integration branch has moved, the batch's row has not",
        target="tasks.workspaces.git:publish",
    ),
    Point(
        name="finish-before",
        says="the run's result is known, its row still RUNNING",
        target="batches.lifecycle:finish_run",
        before=True,
    ),
    Point(
        name="finish-after",
        says="the run has ended, its dependent has not started",
        target="batches.lifecycle:finish_run",
    ),
    Point(
        name="validating",
        says="a gate runs on the integrated tree",
        target=f"{CLIENT}:start",
        applies=_of_validation,
    ),
    Point(
        name="validated",
        says="the integrated tree is validated, nothing has landed",
        target="batches.closing:_validate",
    ),
    Point(
        name="land-files",
        says="the user's files are moved, the branch is not",
        target="batches.integration.landing:_publish",
        before=True,
    ),
    Point(
        name="landed",
        says="the branch has moved, no row says so",
        target="batches.integration.landing:land",
    ),
    Point(
        name="final-before",
        says="the final status is about to be written",
        target="batches.lifecycle:finish_batch",
        before=True,
    ),
    Point(
        name="final-after",
        says="the batch has ended, the job has not returned",
        target="batches.lifecycle:finish_batch",
    ),
)
BY_NAME = {point.name: point for point in POINTS}
