"""Whether, and how soon, a run that did not complete is tried again."""

from batches.models import Batch, Run
from batches.models.run import RunStatus
from batches.reasons import Reason
from batches.results import RunResult

INFRASTRUCTURE_TRIES = 3
"""Attempts that fail for reasons of ours or a provider's, beyond what `max_retries` allows."""
BACKOFF_S = (5.0, 30.0, 120.0)
STOPPED = frozenset({RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.SKIPPED})


def delay_before_retry(batch: Batch, run: Run, result: RunResult) -> float | None:
    """Seconds until the next attempt; None when this was the last.

    Reasons of infrastructure are counted apart: they never use up `max_retries`. A provider's
    limit is not counted at all.
    """
    if result.reason is Reason.RATE_LIMITED and result.status not in STOPPED:
        return 0.0  # it waits for its provider, and spends no attempt
    if result.status in STOPPED or result.reason is None or not result.reason.retryable:
        return None
    earlier = Run.objects.filter(
        batch=batch, position=run.position, round=run.round, attempt__lt=run.attempt
    ).values_list("reason", flat=True)
    alike = sum(
        _infrastructure(reason) == result.reason.infrastructure
        for reason in earlier
        if reason != Reason.RATE_LIMITED
    )
    if result.reason.infrastructure:
        return BACKOFF_S[alike] if alike < INFRASTRUCTURE_TRIES else None
    return 0.0 if alike < batch.max_retries else None


def _infrastructure(reason: str) -> bool:
    return any(known.infrastructure for known in Reason if known == reason)
