"""What the queue calls. A message is a hint; whether there is something to do, the rows say."""

import logging
from uuid import UUID

from django.db import DatabaseError

from batches import lifecycle
from batches.attempt import run_attempt
from batches.conductor import Attempt, conduct
from batches.errors import Fenced
from batches.owner import new_owner
from batches.persist import persist
from batches.shutdown import DRAIN, LEAVE, Flag

log = logging.getLogger(__name__)


def execute_batch(
    batch_id: UUID | str, *, attempt: Attempt = run_attempt, leave: Flag = LEAVE
) -> bool:
    """Claims and conducts; False when there was nothing to claim. Blocks until the end.

    Never call it from a request: create the batch, and the queue does this.
    """
    if leave.is_set() or DRAIN.is_set():
        return False  # the next worker's recovery sends it again
    lease = persist(lambda: lifecycle.claim_batch(batch_id=UUID(str(batch_id)), owner=new_owner()))
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
