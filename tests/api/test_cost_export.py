"""Every call of a range, for spreadsheets and programs."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from django.test import Client

from costs.ledger import Account
from tasks.api.cost_export import FORMULAS
from tasks.models import Workspace
from tests.api.client import Api, code_of
from tests.api.rows import known_workspace
from tests.costs.charging import charge

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def exported(admin_client: Client, query: str) -> str:
    response = admin_client.get(f"/api/v2/costs/export?{query}")
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith('attachment; filename="costs-')
    return b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]


def test_csv_and_json_have_the_same_rows(admin_client: Client, workspace: Workspace) -> None:
    account = Account(workspace_id=workspace.id)
    charge(account, "0.0000000001", model='a,"b"', at=datetime(2026, 3, 2, tzinfo=UTC))
    charge(account, None, at=datetime(2026, 3, 1, tzinfo=UTC))
    charge(account, "5", at=datetime(2026, 4, 1, tzinfo=UTC))
    span = "from=2026-03-01&to=2026-03-31"
    rows = list(csv.DictReader(io.StringIO(exported(admin_client, span))))
    same = json.loads(exported(admin_client, f"{span}&format=json"))
    assert [row["cost_usd"] for row in rows] == ["", "0.0000000001"]
    assert [row["cost_usd"] for row in same] == [None, "0.0000000001"]
    assert [row["model"] for row in rows] == [row["model"] for row in same] == ["m1", 'a,"b"']
    assert json.loads(exported(admin_client, "from=2025-01-01&to=2025-01-01&format=json")) == []


@pytest.mark.parametrize("start", FORMULAS)
def test_no_cell_is_a_formula(admin_client: Client, workspace: Workspace, start: str) -> None:
    charge(Account(workspace_id=workspace.id), "1", model=f"{start}cmd|' /C calc'!A0", note=start)
    (row,) = csv.DictReader(io.StringIO(exported(admin_client, "days=1"), newline=""))
    assert row["model"].startswith("'" + start)
    assert row["note"].startswith("'")


def test_the_range_and_the_format_are_checked(api: Api, workspace: Workspace) -> None:
    for query in (
        "format=xml",
        "days=0",
        "from=2026-02-30",
        "to=2026-01-01",
        "from=2026-01-01&days=3",
        "from=2026-02-01&to=2026-01-01",
        "from=2020-01-01&to=2026-01-01",
        "from=9999-01-01&to=9999-01-02",
        "from=20260101",
    ):
        assert code_of(api("GET", f"costs/export?{query}")) == (422, "VALIDATION_ERROR"), query


def test_each_day_by_agent(api: Api, workspace: Workspace) -> None:
    account = Account(workspace_id=workspace.id)
    for day, agent, cost in ((1, "a", "1"), (1, "b", "2"), (2, "a", "4"), (2, "a", None)):
        charge(account, cost, agent=agent, at=datetime(2026, 3, day, tzinfo=UTC))
    rows = api.get("costs/by-day?from=2026-03-01&to=2026-03-02")["by_day"]
    assert [(row["date"], row["agent_id"], row["total_cost_usd"]) for row in rows] == [
        ("2026-03-01", "a", 1),
        ("2026-03-01", "b", 2),
        ("2026-03-02", "a", 4),
    ]
    assert rows[-1]["unpriced_calls"] == 1
