"""The end of a batch: validate the integrated tree, land it, say how it ended.

Safe to enter again after a crash at any point: landing looks at the branches first, and the
final event is written with the final status or not at all.
"""

from django.db import transaction
from django.db.models import QuerySet

from batches import lifecycle, paths
from batches.checking import check_tree, waived_by
from batches.gates.catalog import GateError
from batches.gates.outcomes import Verification, VerificationState, summarize
from batches.integration import landing, trees
from batches.lease import Lease, read_orders
from batches.models import Batch, Run
from batches.models.batch import BatchStatus, Land
from batches.models.run import RunStatus
from batches.outfitting import OutfitFailed, discard, outfit
from batches.persist import persist
from batches.place import Place
from batches.reasons import Reason
from batches.scope import Stopped, StopScope
from batches.supervisor.client import SupervisorStartError
from tasks.events import types
from tasks.events.log import record, record_one
from tasks.lifecycle import shift_tasks
from tasks.models.task import TaskStatus
from tasks.text import stored
from tasks.workspaces.git import GitError

LANDABLE = (VerificationState.PASSED, VerificationState.WAIVED)
SHOWN = 5
UNLANDED = {
    Land.BRANCH: "left on its branch, as asked",
    Land.NONE: "not landed, as asked",
}


def close_batch(*, lease: Lease, place: Place, scope: StopScope) -> None:
    """Raises LetGo and Fenced; anything else is told in the batch's row."""
    batch = place.batch
    statuses = set(_last_runs(batch).values_list("status", flat=True))
    if RunStatus.COMPLETED not in statuses:
        _finish_without_result(lease, statuses, _held_back(batch))
        return
    try:
        _obey(lease, scope)
        verification = _validate(lease, place, scope)
        if verification.state is not VerificationState.FAILED:
            _obey(lease, scope)
            _land(lease, place, verification)
    except Stopped as stopped_now:
        _finish(lease, BatchStatus.CANCELLED, Reason.CANCELLED, stopped_now.stop.sentence)
        return
    if verification.state is VerificationState.FAILED:
        _finish(lease, BatchStatus.PARTIAL, Reason.GATE_FAILED, verification.reason)
    elif statuses == {RunStatus.COMPLETED}:
        _finish(lease, BatchStatus.COMPLETED)
    else:
        _finish(lease, BatchStatus.PARTIAL, *_held_back(batch))


def _held_back(batch: Batch) -> tuple[str, str]:
    """Reason and message where money ended the batch, else empty."""
    run = _last_runs(batch).filter(reason=Reason.BUDGET).order_by("position").first()
    return (Reason.BUDGET, run.message) if run else ("", "")


def _finish_without_result(lease: Lease, statuses: set[str], held_back: tuple[str, str]) -> None:
    """Stopped work is never graded as failed work."""
    if held_back[0] and statuses <= {RunStatus.CANCELLED, RunStatus.SKIPPED}:
        _finish(lease, BatchStatus.CANCELLED, *held_back)
        return
    if RunStatus.CANCELLED in statuses and statuses <= {RunStatus.CANCELLED, RunStatus.SKIPPED}:
        _finish(lease, BatchStatus.CANCELLED, Reason.STOPPED, Reason.STOPPED.sentence)
    else:
        _finish(lease, BatchStatus.FAILED, *(held_back if held_back[0] else _in_common(lease)))


def _in_common(lease: Lease) -> tuple[str, str]:
    """Reason and message where all that ran ended for the same reason, else empty."""
    runs = Run.objects.filter(batch_id=lease.batch_id, superseded=False)
    ended = runs.exclude(status=RunStatus.SKIPPED).order_by()
    reasons = list(ended.values_list("reason", flat=True).distinct()[:2])
    shared = next((reason for reason in Reason if reasons == [reason]), None)
    if shared is None:
        return "", ""
    messages = list(ended.values_list("message", flat=True).distinct()[:2])
    return shared, messages[0] if len(messages) == 1 else shared.sentence


def _obey(lease: Lease, scope: StopScope) -> None:
    """The watch looks now and then only, and what has landed is not taken back.

    Raises Stopped, LetGo and Fenced.
    """
    orders = persist(lambda: read_orders(lease))
    if orders.stop_mode:
        scope.request(Reason.CANCELLED, orders.stop_reason)
    scope.check()


def _last_runs(batch: Batch) -> QuerySet[Run]:
    return Run.objects.filter(batch=batch, superseded=False)


def _finish(lease: Lease, status: BatchStatus, reason: str = "", message: str = "") -> None:
    persist(
        lambda: lifecycle.finish_batch(lease=lease, status=status, reason=reason, message=message)
    )


# -- validation ----------------------------------------------------------------------------------


def _validate(lease: Lease, place: Place, scope: StopScope) -> Verification:
    """Gates on a clean checkout of the integrated tree.

    What the runs' own gates said is not enough, even of the very same tree: there an agent may
    have left ignored files, tools of its own among them.
    """
    try:
        verification = _evidence(lease, place, scope)
    except (GitError, GateError, OutfitFailed, SupervisorStartError) as error:
        verification = Verification(state=VerificationState.FAILED, reason=stored(str(error)))
    batch = place.batch
    batch.verification, batch.verification_reason = verification.state, verification.reason

    def write() -> None:
        with transaction.atomic():
            lease.require(verification=verification.state, verification_reason=verification.reason)
            record_one(
                workspace_id=lease.workspace_id,
                type=types.BATCH_VALIDATED,
                batch_id=batch.id,
                payload={"verification": verification.state, "reason": verification.reason},
            )

    persist(write)
    return verification


def _evidence(lease: Lease, place: Place, scope: StopScope) -> Verification:
    batch = place.batch
    waived = waived_by(batch)
    if waived:
        return summarize([], waived_by=waived)
    if not place.isolated:
        return _of_last_run(batch)
    tip = place.tip()
    tree = paths.tree_dir(batch.id)
    trees.remove(tree)
    trees.create(place.store, tree_dir=tree, base=tip, branch="codeframe/validation")
    try:
        surroundings = outfit(place, lease, scope, tree=tree, commit=tip)
        return check_tree(
            batch=batch,
            lease=lease,
            scope=scope,
            tree=tree,
            tree_hash=tip,
            run_dir=paths.validation_dir(batch.id),
            expected=_expected(batch),
            surroundings=surroundings,
        )
    finally:
        trees.remove(tree)
        discard(batch)


def _of_last_run(batch: Batch) -> Verification:
    """Without isolation every run was checked in the workspace, the last one as it stands now."""
    last = _last_runs(batch).filter(status=RunStatus.COMPLETED).latest("finished_at")
    return Verification(
        state=VerificationState(last.verification or VerificationState.UNVERIFIED),
        reason=last.verification_reason,
    )


def _expected(batch: Batch) -> set[str]:
    rows = _last_runs(batch).filter(status=RunStatus.COMPLETED)
    return {name for names in rows.values_list("expected_gates", flat=True) for name in names}


# -- landing -------------------------------------------------------------------------------------


def _land(lease: Lease, place: Place, verification: Verification) -> None:
    """Records an outcome in any case; a batch whose result waits on its branch is not a failure."""
    batch = place.batch
    if not place.isolated:
        return
    tip = place.tip()
    if tip == batch.base_commit:
        outcome, detail, commit = "nothing", "no run changed a file", ""
    elif batch.land in UNLANDED:
        outcome, detail, commit = str(batch.land), UNLANDED[Land(batch.land)], ""
    elif verification.state not in LANDABLE:
        outcome, commit = "held", ""
        detail = f"not proven, so it stays on {batch.branch}: {verification.reason}"
    else:
        outcome, detail, commit = _try_to_land(place, tip)
    persist(lambda: _record_landing(lease, batch, outcome, detail, commit))


def _try_to_land(place: Place, tip: str) -> tuple[str, str, str]:
    batch = place.batch
    try:
        landed = landing.land(
            place.store,
            branch=batch.base_branch or None,
            commit=tip,
            message=f"Merge batch {batch.short_id}",
            trailers={"Codeframe-Batch": str(batch.id)},
        )
    except GitError as error:
        return "failed", str(error), ""
    detail = _naming_files(landed)
    if not landed.landed:
        detail += f" To land it by hand: git merge {batch.branch}"
    return landed.outcome, detail, landed.commit or ""


def _naming_files(landed: landing.Landing) -> str:
    names = [path.decode("utf-8", "backslashreplace") for path in landed.files]
    unsaid = [name for name in names if name not in landed.detail]
    more = f" and {len(unsaid) - SHOWN} more" if len(unsaid) > SHOWN else ""
    return f"{landed.detail} ({', '.join(unsaid[:SHOWN])}{more})" if unsaid else landed.detail


def _record_landing(lease: Lease, batch: Batch, outcome: str, detail: str, commit: str) -> None:
    detail = stored(detail)
    batch.landing, batch.landing_detail, batch.landed_commit = outcome, detail, commit
    with transaction.atomic():
        lease.require(landing=outcome, landing_detail=detail, landed_commit=commit)
        events = []
        if outcome == landing.LANDED:
            done = _last_runs(batch).filter(status=RunStatus.COMPLETED, task__isnull=False)
            ids = list(done.values_list("task_id", flat=True))
            events = shift_tasks(task_ids=ids, to=TaskStatus.MERGED, why="landed")
        record_one(
            workspace_id=lease.workspace_id,
            type=types.BATCH_LANDED,
            batch_id=batch.id,
            payload={"outcome": outcome, "detail": detail, "commit": commit},
        )
        record(workspace_id=lease.workspace_id, events=events)
