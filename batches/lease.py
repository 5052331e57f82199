"""Who conducts a batch: an owner, an expiry by the database's clock, and a fence number.

Every write of a conductor is conditional on owner and fence; whoever finds no row was overtaken.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from batches.errors import Fenced
from batches.models import Batch, Run
from batches.models.batch import ACTIVE, BatchStatus
from batches.models.run import RunStatus

_HOLD = (
    # Only the table's own name is put in.
    f"UPDATE {Batch._meta.db_table} SET fence = fence "  # noqa: S608
    "WHERE id = %s AND lease_owner = %s AND fence = %s AND status IN (%s, %s, %s)"
)


@dataclass(frozen=True)
class Lease:
    batch_id: UUID
    workspace_id: UUID
    owner: str
    fence: int

    def row(self) -> QuerySet[Batch]:
        """The batch as long as it is ours and active; empty once fenced."""
        return Batch.objects.filter(
            id=self.batch_id, lease_owner=self.owner, fence=self.fence, status__in=ACTIVE
        )

    def require(self, **changes: Any) -> None:
        """Locks the row for the rest of the transaction; raises Fenced when it is not ours."""
        if not (self.row().update(**changes) if changes else self._hold()):
            raise Fenced(f"batch {self.batch_id} has another owner")

    def _hold(self) -> int:
        """As an update of `row()` without a change. In SQL, for every write of a run begins so."""
        key = Batch._meta.pk.get_db_prep_value(self.batch_id, connection)
        with connection.cursor() as cursor:
            cursor.execute(_HOLD, [key, self.owner, self.fence, *ACTIVE])
            return int(cursor.rowcount)


@dataclass(frozen=True)
class Orders:
    """What people have asked for since the last look."""

    stop_mode: str
    stop_reason: str
    runs_to_stop: frozenset[UUID]


def lease_end() -> Any:
    """An expression: the database's clock decides, whatever the hosts' clocks say."""
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


def renew(lease: Lease) -> None:
    """Raises Fenced."""
    lease.require(lease_expires_at=lease_end())


def read_orders(lease: Lease) -> Orders:
    """Raises Fenced."""
    row = lease.row().values("stop_mode", "stop_reason", "status").first()
    if row is None:
        raise Fenced(f"batch {lease.batch_id} has another owner")
    stopping = row["status"] == BatchStatus.CANCELLING
    runs = Run.objects.filter(
        batch_id=lease.batch_id, status=RunStatus.RUNNING, stop_requested=True
    ).values_list("id", flat=True)
    return Orders(
        stop_mode=row["stop_mode"] if stopping else "",
        stop_reason=row["stop_reason"] if stopping else "",
        runs_to_stop=frozenset(runs),
    )


def release(lease: Lease) -> None:
    """Lets the next owner claim at once; does nothing when fenced."""
    lease.row().update(lease_owner="", lease_expires_at=None)
