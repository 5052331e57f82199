"""Gates on a tree, with their rows and events: the same for a run and for the whole batch."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from django.db import transaction

from batches.configuration.effective import merged
from batches.engines.environment import server_path
from batches.gates import catalog, verify
from batches.gates.outcomes import GateOutcome, GateResult, Verification, summarize
from batches.lease import Lease
from batches.models import Batch, GateRecord, Run
from batches.persist import persist
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.scope import StopScope
from batches.supervisor.client import StopRequest
from tasks.events import types
from tasks.events.log import record_one
from tasks.text import storable_json, stored


def check_tree(
    *,
    batch: Batch,
    lease: Lease,
    scope: StopScope,
    tree: Path,
    tree_hash: str,
    run_dir: Path,
    run: Run | None = None,
    expected: Collection[str] = (),
    surroundings: Surroundings = NOTHING,
) -> Verification:
    """Runs the batch's gates and records each. Raises GateError, Stopped and LetGo."""
    gates = catalog.select(batch.gates, tree, own_gates(batch), expected=expected)
    waived = waived_by(batch)
    if waived:
        return summarize([], waived_by=waived)

    def on_result(result: GateResult) -> None:
        if result.outcome is not GateOutcome.CANCELLED:
            persist(lambda: _record(lease, batch, run, tree_hash, result))

    results = verify.run_gates(
        gates,
        tree=tree,
        run_dir=run_dir,
        path=server_path(),
        should_stop=stop_request_of(scope),
        on_result=on_result,
        repository=Path(batch.workspace.repo_path),
        surroundings=surroundings,
    )
    scope.check()
    verification = summarize(results)
    return replace(verification, reason=stored(verification.reason))


def own_gates(batch: Batch) -> list[catalog.Gate]:
    """Of the configuration that the batch was created with, and above it the workspace's row.

    Raises GateError.
    """
    rows = merged(batch.config.get("values", {}).get("gates", []), batch.workspace.gates)
    return [catalog.workspace_gate(row) for row in rows]


def waived_by(batch: Batch) -> str | None:
    if batch.gates == catalog.NONE:
        return batch.created_by or batch.origin or "the batch's options"
    if batch.workspace.gates_waived and batch.gates == catalog.AUTO:
        return f"workspace {batch.workspace.name}"
    return None


def stop_request_of(scope: StopScope) -> Callable[[], StopRequest | None]:
    def should_stop() -> StopRequest | None:
        stop = scope.asked()
        return StopRequest(reason=stop.sentence) if stop else None

    return should_stop


def _record(
    lease: Lease, batch: Batch, run: Run | None, tree_hash: str, result: GateResult
) -> None:
    findings = [
        {"file": f.file, "line": f.line, "name": f.name, "message": f.message}
        for f in result.findings
    ]
    payload = {
        "gate": result.name,
        "outcome": result.outcome,
        "summary": result.summary,
        "duration_s": round(result.duration_s, 3),
    }
    with transaction.atomic():
        lease.require()
        GateRecord.objects.create(
            batch=batch,
            run=run,
            name=result.name,
            outcome=result.outcome,
            exit_code=result.exit_code,
            duration_s=result.duration_s,
            summary=stored(result.summary),
            findings=storable_json(findings),
            output_tail=stored(result.output_tail),
            tree=tree_hash,
        )
        record_one(
            workspace_id=lease.workspace_id,
            type=types.RUN_GATE,
            batch_id=batch.id,
            run_id=run.id if run else None,
            task_id=run.task_id if run else None,
            payload=payload,
        )
