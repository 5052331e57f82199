"""The state of the installation on one page, for those who run it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from batches import lifecycle, owner, recovery, worker_files
from batches.models import Batch, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from batches.stuck import stuck
from batches.waiting import why_waiting
from codeframe_site.limits import LIMITS
from codeframe_site.looplag import MONITOR
from codeframe_site.operators.clients import connected_clients
from codeframe_site.operators.disk import free_space, last_measured
from tasks.audit import audit
from tasks.errors import DomainError
from tasks.models import Blocker
from tasks.models.blocker import BlockerStatus

ROWS_SHOWN = 50
MAY_STEER = "batches.change_batch"
MOST_COUNTED = 1000


@require_safe
@login_required
def operators_page(request: HttpRequest) -> HttpResponse:
    """Queries do not grow with the installation, and no folder is walked."""
    if not request.user.is_staff:
        raise Http404
    now = timezone.now()
    held = recovery.held()[:ROWS_SHOWN]
    waiting = Batch.objects.filter(status=BatchStatus.PENDING).select_related("workspace")
    here = sum(owner.is_here(batch.lease_owner) for batch in held)
    free, total = free_space()
    context = {
        "now": now,
        "host": owner.host_name(),
        "workers": worker_files.living(),
        "held": [_held(batch, now) for batch in held],
        "waiting": [
            (batch, why_waiting(batch, running=here, ahead=ahead))
            for ahead, batch in enumerate(waiting.order_by("created_at")[:ROWS_SHOWN])
        ],
        "queue_age_s": recovery.oldest_wait(),
        "running": _counted(Run.objects.filter(status=RunStatus.RUNNING)),
        "questions": _counted(Blocker.objects.filter(status=BlockerStatus.OPEN)),
        "stuck": stuck(),
        "may_steer": request.user.has_perm(MAY_STEER),
        "loop": MONITOR.state(),
        "requests": LIMITS.state(),
        "clients": connected_clients(),
        "disk": last_measured(),
        "free": free,
        "total": total,
        "limits": {
            "batches": settings.MAX_CONCURRENT_BATCHES,
            "agents": settings.MAX_AGENTS,
            "lease": settings.LEASE_SECONDS,
        },
    }
    return render(request, "site/operators.html", context)


@require_POST
@login_required
def unstick(request: HttpRequest, verb: str) -> HttpResponseRedirect:
    """`?batch=` or `?run=` names the row. For who may change batches in the admin too."""
    if not request.user.is_staff:
        raise Http404
    if not request.user.has_perm(MAY_STEER):
        raise PermissionDenied
    by = request.user.get_username()
    try:
        messages.success(request, VERBS[verb](_asked(request), by))
    except DomainError as error:
        messages.error(request, error.message)
    return redirect("operators")


def _recover(row_id: UUID, by: str) -> str:
    batch = _batch(row_id)
    recovery.send_again(batch)
    audit(by, "batch.recover", batch.short_id)
    return f"Batch {batch.short_id} is sent to the queue again."


def _cancel(row_id: UUID, by: str) -> str:
    batch = _batch(row_id)
    after = lifecycle.cancel_batch(batch_id=batch.id, reason=f"cancelled by {by}, an operator")
    return f"Batch {after.short_id} is {after.status}: work done so far is kept."


def _stop(row_id: UUID, by: str) -> str:
    run = Run.objects.filter(id=row_id).select_related("batch").first()
    if run is None:
        raise Http404("There is no such run.")
    lifecycle.stop_run(run=run, by=by)
    return f"Run {run.short_id} is told to stop; its batch goes on."


VERBS: dict[str, Callable[[UUID, str], str]] = {
    "recover": _recover,
    "cancel": _cancel,
    "stop": _stop,
}


def _asked(request: HttpRequest) -> UUID:
    try:
        return UUID(request.POST.get("id", ""))
    except ValueError:
        raise Http404("There is no such row.") from None


def _batch(row_id: UUID) -> Batch:
    batch = Batch.objects.filter(id=row_id).select_related("workspace").first()
    if batch is None:
        raise Http404("There is no such batch.")
    return batch


def _held(batch: Batch, now: datetime) -> dict[str, Any]:
    """Its owner renews the lease with every heartbeat, so what is left of it tells its age."""
    host, _, rest = batch.lease_owner.partition("|")
    assert batch.lease_expires_at is not None
    left = (batch.lease_expires_at - now).total_seconds()
    return {
        "batch": batch,
        "host": host,
        "pid": rest.split("|")[1] if rest.count("|") >= 2 else "",
        "heartbeat_s": max(0.0, settings.LEASE_SECONDS - left),
    }


def _counted(rows: Any) -> str:
    """Up to a thousand: nobody needs to know more, and counting all would take its time."""
    count = len(rows.order_by().values_list("pk")[: MOST_COUNTED + 1])
    return f"more than {MOST_COUNTED}" if count > MOST_COUNTED else str(count)
