"""Why a PENDING batch has not started, in one sentence."""

from django.conf import settings

from batches import owner, recovery
from batches.models import Batch
from batches.models.batch import BatchStatus


def why_waiting(batch: Batch, *, running: int | None = None, ahead: int | None = None) -> str:
    """Empty for a batch that does not wait. Counts that are known already are not asked for."""
    if batch.status != BatchStatus.PENDING:
        return ""
    if batch.workspace.host and batch.workspace.host != owner.host_name():
        return f"waits for the worker on {batch.workspace.host}, which holds the repository"
    running = len(recovery.held_on_host()) if running is None else running
    if ahead is None:
        earlier = Batch.objects.filter(status=BatchStatus.PENDING, created_at__lt=batch.created_at)
        ahead = earlier.count()
    if running >= settings.MAX_CONCURRENT_BATCHES:
        return (
            f"waits for a slot: {running} of {settings.MAX_CONCURRENT_BATCHES} batches run on this "
            f"machine, {ahead} wait before it"
        )
    return f"waits for a worker to pick it up, {ahead} before it"
