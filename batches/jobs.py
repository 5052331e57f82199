"""What the queue calls. A message is a hint; whether there is something to do, the rows say."""

import logging
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError

from batches import engine_versions, lifecycle, recovery
from batches.answering import resume_answered
from batches.attempt import run_attempt
from batches.conductor import Attempt, conduct
from batches.errors import Fenced
from batches.host_slots import slot
from batches.owner import new_owner
from batches.persist import persist
from batches.provisioning.collecting import collect
from batches.shared import DRAIN, LEAVE, Flag, mark_delivery

log = logging.getLogger(__name__)


def run_from_queue(batch_id: str) -> None:
    """A batch that finds no slot, or a worker that is leaving, stays PENDING; recovery sends it."""
    mark_delivery()
    if LEAVE.is_set() or DRAIN.is_set():
        return
    with slot("batch", settings.MAX_CONCURRENT_BATCHES) as free:
        if free:
            _execute_to_the_end(UUID(str(batch_id)))
    if not (LEAVE.is_set() or DRAIN.is_set()):
        recovery.recover()


def _execute_to_the_end(batch_id: UUID) -> None:
    """Round after round while questions are answered meanwhile."""
    owner = new_owner()
    while execute_batch(batch_id, owner=owner):
        if LEAVE.is_set() or DRAIN.is_set():
            return
        if not persist(partial(resume_answered, batch_id, reserve_for=owner)):
            return


def collect_garbage() -> None:
    """Of this machine; one at a time."""
    mark_delivery()
    if LEAVE.is_set() or DRAIN.is_set():
        return
    with slot("collect", 1) as free:
        if free:
            collect()


def check_engines() -> None:
    """Asks the programs of agents for their versions: seconds that no request may wait for."""
    mark_delivery()
    engine_versions.refresh()


def execute_batch(
    batch_id: UUID | str,
    *,
    attempt: Attempt = run_attempt,
    leave: Flag = LEAVE,
    owner: str = "",
) -> bool:
    """Claims and conducts; False when there was nothing to claim. Blocks until the end.

    `owner` is whom the batch was reserved for, if it was.

    Never call it from a request: create the batch, and the queue does this.
    """
    lease = persist(
        lambda: lifecycle.claim_batch(batch_id=UUID(str(batch_id)), owner=owner or new_owner())
    )
    if lease is None:
        return False
    try:
        conduct(lease, attempt=attempt, leave=leave)
    except Fenced as fenced:
        log.warning("%s", fenced)
    except DatabaseError:
        # The lease runs out by itself, and whoever has a database then goes on.
        log.exception("batch %s was let go", lease.batch_id)
    except Exception as error:
        log.exception("batch %s broke", lease.batch_id)
        message = f"{type(error).__name__}: {error}"[:500]
        persist(lambda: lifecycle.fail_batch(lease=lease, message=message))
    return True
