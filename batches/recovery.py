"""Batches whose message or owner was lost are sent again; nobody has to look."""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from batches import owner
from batches.errors import InvalidState
from batches.models import Batch
from batches.models.batch import ACTIVE
from tasks import queue

RESEND_SECONDS = 5
"""How long a message may be on its way before it counts as lost; a double does no harm."""


def recover() -> list[Batch]:
    """Sends what should be running and is not, oldest first, as many as may run here."""
    free_dead_leases()
    room = settings.MAX_CONCURRENT_BATCHES - len(held_on_host())
    sent: list[Batch] = []
    for batch in runnable_here():
        if len(sent) >= room:
            break
        if _mark_sent(batch):
            queue.send_batch(batch.id, host=batch.workspace.host)
            sent.append(batch)
    return sent


def send_again(batch: Batch) -> None:
    """At once, whatever there is room for: a person has looked. Raises InvalidState."""
    free_dead_leases(batch.workspace_id)
    if not any(found.id == batch.id for found in unowned(batch.workspace_id)):
        batch.refresh_from_db()
        held = "a living worker holds it, and goes on by itself" if batch.is_active else "it ended"
        raise InvalidState(f"batch {batch.short_id} is {batch.status}: {held}")
    Batch.objects.filter(id=batch.id).update(sent_at=Now())
    queue.send_batch(batch.id, host=batch.workspace.host)


def runnable_here() -> list[Batch]:
    """A workspace on another machine is that machine's to recover."""
    here = ("", owner.host_name())
    return [batch for batch in unowned() if batch.workspace.host in here]


def unowned(workspace_id: UUID | None = None) -> list[Batch]:
    """Active batches without a living owner, oldest first."""
    free = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lt=Now())
    rows = Batch.objects.filter(free, status__in=ACTIVE).select_related("workspace")
    rows = rows.order_by("created_at")
    return list(rows.filter(workspace_id=workspace_id) if workspace_id else rows)


def oldest_wait() -> float:
    """Seconds that the oldest batch which could run here has waited, as far as there is room."""
    room = settings.MAX_CONCURRENT_BATCHES - len(held_on_host())
    waiting = runnable_here()[: max(0, room)]
    return max(
        ((timezone.now() - batch.created_at).total_seconds() for batch in waiting), default=0.0
    )


def free_dead_leases(workspace_id: UUID | None = None) -> None:
    """Where the owner is provably gone there is no need to wait for its lease to run out."""
    for batch in _leased():
        if workspace_id in (None, batch.workspace_id) and owner.is_dead(batch.lease_owner):
            Batch.objects.filter(id=batch.id, lease_owner=batch.lease_owner).update(
                lease_expires_at=None
            )


def held_here() -> list[Batch]:
    """Batches that processes of this worker hold."""
    return [batch for batch in _leased() if owner.is_ours(batch.lease_owner)]


def held() -> list[Batch]:
    """With a living owner, on any machine."""
    return list(_leased())


def held_on_host() -> list[Batch]:
    return [batch for batch in _leased() if owner.is_here(batch.lease_owner)]


def _leased() -> QuerySet[Batch]:
    return Batch.objects.filter(status__in=ACTIVE, lease_expires_at__gte=Now())


def _mark_sent(batch: Batch) -> bool:
    """By compare-and-set, so that of several workers one sends."""
    lost = Q(sent_at__isnull=True) | Q(sent_at__lt=Now() - timedelta(seconds=RESEND_SECONDS))
    return bool(Batch.objects.filter(lost, id=batch.id).update(sent_at=Now()))
