"""Gates on the run's own tree; nothing skipped or empty counts as a pass."""

from pathlib import Path

from batches import paths
from batches.checking import check_tree
from batches.context import RunContext, StageFailed
from batches.gates.catalog import GateError
from batches.gates.outcomes import VerificationState
from batches.provisioning.surroundings import Surroundings
from batches.reasons import Reason
from batches.results import failed


def verify_tree(context: RunContext, tree: Path, surroundings: Surroundings) -> None:
    """Raises StageFailed when a gate failed; an unverified run goes on and says so."""
    run = context.run
    if run.verification:
        return
    with context.stage("gates"):
        context.scope.check()
        try:
            verification = check_tree(
                batch=context.batch,
                lease=context.lease,
                scope=context.scope,
                tree=tree,
                tree_hash="",
                run_dir=paths.run_dir(run.id),
                run=run,
                expected=run.expected_gates,
                surroundings=surroundings,
            )
        except GateError as error:
            raise StageFailed(failed(Reason.GATE_FAILED, str(error))) from error
        context.save_later(verification=verification.state, verification_reason=verification.reason)
        if verification.state is VerificationState.FAILED:
            raise StageFailed(failed(Reason.GATE_FAILED, verification.reason))
