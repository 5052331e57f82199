"""Which runs of a finished batch are done again."""

from collections.abc import Collection, Mapping
from decimal import Decimal
from uuid import UUID

from django.db import transaction

from batches import lifecycle
from batches.caps import change_caps, refuse_spent
from batches.errors import InvalidTasks
from batches.models import Batch, Run
from batches.models.run import RunStatus
from batches.reasons import Reason
from tasks.blockers import answer_blocker
from tasks.models import Blocker, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.task import FINISHED, TaskStatus


def resume(
    *,
    batch: Batch,
    force: bool = False,
    only: Collection[UUID] | None = None,
    caps: Mapping[str, Decimal | None] | None = None,
    by: str = "",
    send: bool = True,
    reserve_for: str = "",
) -> Batch:
    """Runs what did not complete, with the recorded settings; `force` runs all that did not land.

    `only` names some; `caps` are raised first, and a batch with a cap that is used up is refused.

    A conflict is resolved by resuming: the task is done again on top of what was integrated.
    Tasks with another open question stay as they are. Raises InvalidState and WorkspaceBusy.
    """
    with transaction.atomic():
        # One transaction, so that a refused resume has answered no question.
        Workspace.objects.select_for_update(no_key=True).get(id=batch.workspace_id)
        runs = [run for run in _last_runs(batch) if _chosen(run, force=force, only=only)]
        if only is not None:
            _refuse_missing(batch, runs, only)
            _refuse_merged(runs)
        if caps:
            change_caps(batch.id, dict(caps), by=by)
        if runs:
            refuse_spent(batch)
        for blocker in _conflicts(runs):
            answer_blocker(blocker=blocker, answer="done again on the integrated work", by=by)
        waiting = _waiting_tasks(runs)
        again = [run for run in runs if run.task_id not in waiting]
        return lifecycle.resume_batch(
            batch=batch, runs=again, by=by, send=send, reserve_for=reserve_for
        )


def _last_runs(batch: Batch) -> list[Run]:
    rows = Run.objects.filter(batch=batch, superseded=False, task__isnull=False)
    return list(rows.select_related("task").order_by("position"))


def _chosen(run: Run, *, force: bool, only: Collection[UUID] | None) -> bool:
    if only is not None:
        return run.task_id in only
    status = run.task.status if run.task else ""
    if force:
        return status != TaskStatus.MERGED  # final: a second attempt could not start
    return run.status != RunStatus.COMPLETED and status not in FINISHED


def _refuse_missing(batch: Batch, runs: list[Run], only: Collection[UUID]) -> None:
    missing = set(only) - {run.task_id for run in runs}
    if missing:
        names = ", ".join(sorted(task_id.hex[:8] for task_id in missing))
        raise InvalidTasks(f"not in batch {batch.short_id}: {names}")


def _refuse_merged(runs: list[Run]) -> None:
    merged = [run.title for run in runs if run.task and run.task.status == TaskStatus.MERGED]
    if merged:
        raise InvalidTasks(f"{merged[0]} is merged; what has landed is not done again")


def _conflicts(runs: list[Run]) -> list[Blocker]:
    ids = [run.task_id for run in runs if run.task_id]
    return list(
        Blocker.objects.filter(task_id__in=ids, status=BlockerStatus.OPEN, reason=Reason.CONFLICT)
    )


def _waiting_tasks(runs: list[Run]) -> set[UUID]:
    ids = [run.task_id for run in runs if run.task_id]
    return set(
        Blocker.objects.filter(task_id__in=ids, status=BlockerStatus.OPEN).values_list(
            "task_id", flat=True
        )
    )
