"""Caps over the API: set with a batch, changed later, and those of a workspace."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from batches.models import Batch
from costs.ledger import Account
from costs.models import Budget, SpendScope
from costs.pauses import pause
from tasks.models import AuditEntry, Event, Workspace
from tests.api.client import Api, code_of
from tests.api.rows import known_workspace
from tests.codeframe_site.rows import batch_row
from tests.costs.charging import charge

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def account(batch: Batch) -> Account:
    return Account(workspace_id=batch.workspace_id, batch_id=batch.id)


def test_a_batch_tells_what_it_spent_and_what_makes_it_wait(api: Api, workspace: Workspace) -> None:
    batch = batch_row(workspace, status="RUNNING", provider="acme")
    assert api.get(f"batches/{batch.id}")["spent"] is None
    charge(account(batch), "0.25")
    charge(account(batch), None)
    until = pause("acme", message="come later").until
    for body in (api.get(f"batches/{batch.id}"), api.get("batches")["batches"][0]):
        spent = body["spent"]
        assert (spent["cost_usd"], spent["calls"], spent["unpriced_calls"]) == (0.25, 2, 1)
        assert body["paused"] == {
            "provider": "acme",
            "until": until.isoformat(),
            "message": "come later",
        }
    done = batch_row(known_workspace("other"), status="COMPLETED", provider="acme")
    assert api.get(f"batches/{done.id}?workspace=other")["paused"] is None


def test_caps_of_a_batch_are_changed_at_any_time(api: Api, workspace: Workspace) -> None:
    batch = batch_row(workspace, status="RUNNING")
    status, body = api("PATCH", f"batches/{batch.id}/budget", {"budget": 2.5, "soft_budget": 2})
    assert (status, body["budget"]) == (200, 2.5)
    assert {(b.hard, b.limit_usd) for b in Budget.objects.all()} == {
        (True, Decimal("2.5")),
        (False, Decimal(2)),
    }
    api("PATCH", f"batches/{batch.id}/budget", {"budget": None})
    assert Budget.objects.get().hard is False
    assert api.get(f"batches/{batch.id}")["budget"] is None
    assert Event.objects.filter(batch_id=batch.id, type="BATCH_BUDGET").count() == 2


@pytest.mark.parametrize("wrong", [0, -1, 0.00001, 10**7, "x", True, [], "NaN"])
def test_an_amount_that_is_none_is_refused_by_its_name(
    api: Api, workspace: Workspace, wrong: Any
) -> None:
    batch = batch_row(workspace, status="RUNNING")
    for path, name in ((f"batches/{batch.id}/budget", "soft_budget"), ("costs/budgets", "day")):
        answer = api("PATCH", path, {name: wrong})
        assert code_of(answer) == (422, "VALIDATION_ERROR")
        assert list(answer[1]["detail"]["errors"]) == [name]
    assert not Budget.objects.exists()


def test_caps_of_a_workspace_with_what_is_spent(api: Api, workspace: Workspace) -> None:
    charge(Account(workspace_id=workspace.id), "3")
    status, body = api("PATCH", "costs/budgets", {"day": 4, "soft_month": 40, "task": 1.5})
    assert status == 200
    assert body == {
        "time_zone": "UTC",
        "caps": [
            {"scope": "day", "hard": True, "limit_usd": 4, "spent_usd": 3},
            {"scope": "month", "hard": False, "limit_usd": 40, "spent_usd": 3},
            {"scope": "task", "hard": True, "limit_usd": 1.5, "spent_usd": None},
        ],
    }
    assert api.get("costs/budgets") == body
    assert AuditEntry.objects.filter(action="workspace.budget").count() == 1
    assert api("PATCH", "costs/budgets", {"day": None})[1]["caps"][0]["scope"] == "month"


def test_another_time_zone_counts_todays_calls_anew(api: Api, workspace: Workspace) -> None:
    now = datetime.now(UTC)
    charge(Account(workspace_id=workspace.id), "3", at=now)
    body = api("PATCH", "costs/budgets", {"day": 9, "time_zone": "Pacific/Kiritimati"})[1]
    assert body["caps"][0]["spent_usd"] == 3
    from costs.models import Spend
    from costs.periods import day_of

    kept = Spend.objects.get(scope=SpendScope.DAY, subject_id=workspace.id)
    assert kept.period == day_of(now, "Pacific/Kiritimati")
    for wrong in ("Mars/Olympus", "", "../etc/passwd", "x\0y"):
        assert api("PATCH", "costs/budgets", {"time_zone": wrong})[0] == 422


def test_who_may_not_administer_a_workspace_changes_no_cap(
    workspace: Workspace, member: Callable[..., Api]
) -> None:
    assert member(workspace, "operator")("PATCH", "costs/budgets", {"day": 4})[0] == 403
    assert not Budget.objects.exists()
