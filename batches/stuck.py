"""What does not go on by itself, or not soon, with what a person can do about each."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from batches import owner
from batches.models import Batch, Run
from batches.models.batch import ACTIVE, BatchStatus
from batches.models.run import RunStatus

SHOWN = 50
UNOWNED_SECONDS = 30
"""Recovery sends such a batch again within seconds; after this long nobody took it."""
STOPPING_SECONDS = 120
QUIET_SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class Stuck:
    """`actions` are of: recover, cancel, stop. `run` is the one to be stopped, where one is."""

    batch: Batch
    why: str
    since: datetime
    actions: tuple[str, ...]
    run: Run | None = None


def stuck() -> list[Stuck]:
    """Oldest first, a bounded number; a constant number of queries."""
    found = [*_unowned(), *_stopping(), *_quiet()]
    return sorted(found, key=lambda one: one.since)[:SHOWN]


def _unowned() -> Iterator[Stuck]:
    before = timezone.now() - timedelta(seconds=UNOWNED_SECONDS)
    free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lt=Now())
    rows = Batch.objects.filter(free, status__in=ACTIVE, created_at__lt=before)
    for batch in rows.select_related("workspace").order_by("created_at")[:SHOWN]:
        since = batch.lease_expires_at or batch.sent_at or batch.created_at
        if since < before:
            yield Stuck(batch=batch, why=_nobody(batch), since=since, actions=("recover", "cancel"))


def _nobody(batch: Batch) -> str:
    host = batch.workspace.host
    where = f" on {host}" if host and host != owner.host_name() else ""
    if batch.status == BatchStatus.PENDING:
        return f"no worker{where} has picked it up"
    return f"its worker is gone, and no other{where} has taken it over"


def _stopping() -> Iterator[Stuck]:
    before = timezone.now() - timedelta(seconds=STOPPING_SECONDS)
    rows = Batch.objects.filter(
        status=BatchStatus.CANCELLING, stop_mode="cancel", lease_expires_at__gte=Now()
    )
    runs = Run.objects.filter(batch__in=rows, status=RunStatus.RUNNING, started_at__lt=before)
    for run in runs.select_related("batch__workspace").order_by("started_at")[:SHOWN]:
        since = run.last_output_at or run.started_at or run.created_at
        if since < before:
            why = f"“{run.title}” has not ended although the batch was cancelled"
            yield Stuck(batch=run.batch, run=run, why=why, since=since, actions=("recover",))


def _quiet() -> Iterator[Stuck]:
    before = timezone.now() - timedelta(seconds=QUIET_SECONDS)
    silent = Q(last_output_at__lt=before) | Q(last_output_at__isnull=True, started_at__lt=before)
    rows = Run.objects.filter(
        silent, status=RunStatus.RUNNING, batch__status=BatchStatus.RUNNING, stop_requested=False
    )
    for run in rows.select_related("batch__workspace").order_by("started_at")[:SHOWN]:
        since = run.last_output_at or run.started_at or run.created_at
        why = f"“{run.title}” has printed nothing in stage {run.stage or 'none'}"
        yield Stuck(batch=run.batch, run=run, why=why, since=since, actions=("stop", "cancel"))
