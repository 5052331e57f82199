from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import DjangoAssertNumQueries

from batches import recovery
from batches.errors import InvalidState
from batches.models import Batch, Run
from batches.stuck import stuck
from tests.codeframe_site.rows import batch_row, run_row, workspace_row

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(hours=1)
SOON = timezone.now() + timedelta(hours=1)


def batch(name: str, status: str, *, lease: Any, made: Any = LONG_AGO, **columns: Any) -> Batch:
    row = batch_row(workspace_row(name), status, lease_owner="x", lease_expires_at=lease, **columns)  # type: ignore[arg-type]
    Batch.objects.filter(id=row.id).update(created_at=made, sent_at=made)
    return row


def told() -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.batch.workspace.name, one.why, one.actions) for one in stuck()]


def test_what_nobody_holds_for_long_is_stuck_and_what_is_held_or_new_is_not() -> None:
    batch("waiting", "PENDING", lease=None)
    batch("gone", "RUNNING", lease=LONG_AGO)
    batch("new", "PENDING", lease=None, made=timezone.now())
    batch("held", "RUNNING", lease=SOON)
    batch("ended", "FAILED", lease=None)
    assert sorted(told()) == [
        ("gone", "its worker is gone, and no other has taken it over", ("recover", "cancel")),
        ("waiting", "no worker has picked it up", ("recover", "cancel")),
    ]


def test_a_run_without_output_and_one_that_outlives_its_cancel_are_stuck() -> None:
    running = batch("quiet", "RUNNING", lease=SOON)
    run_row(running, "RUNNING", started_at=LONG_AGO, title="Silent")  # type: ignore[arg-type]
    talking = run_row(running, "RUNNING", started_at=LONG_AGO, position=1)  # type: ignore[arg-type]
    Run.objects.filter(id=talking.id).update(last_output_at=timezone.now())
    stopping = batch("stopping", "CANCELLING", lease=SOON, stop_mode="cancel")
    run_row(stopping, "RUNNING", started_at=LONG_AGO, title="Deaf")  # type: ignore[arg-type]
    assert sorted((name, actions) for name, _, actions in told()) == [
        ("quiet", ("stop", "cancel")),
        ("stopping", ("recover",)),
    ]


@pytest.mark.parametrize("count", [2, 60])
def test_the_number_of_queries_and_of_rows_is_bounded(
    count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(count):
        batch(f"w{number}", "RUNNING", lease=LONG_AGO)
    with django_assert_num_queries(3):
        assert len(stuck()) == min(count, 50)


def test_only_what_nobody_holds_is_sent_again() -> None:
    lost, held = batch("lost", "RUNNING", lease=LONG_AGO), batch("held", "RUNNING", lease=SOON)
    recovery.send_again(lost)
    with pytest.raises(InvalidState, match="a living worker holds it"):
        recovery.send_again(held)
    assert OrmQ.objects.count() == 1
