from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from costs.ledger import Account
from costs.tokens import Tokens
from tasks.models import Workspace
from tests.api.client import Api, code_of
from tests.api.rows import known_workspace
from tests.codeframe_site.rows import batch_row, run_row
from tests.costs.charging import charge
from tests.factories import make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def spend(
    workspace: Workspace, cost: str | None, *, task: UUID | None = None, **extra: Any
) -> None:
    ids = {name: extra.pop(name, None) for name in ("batch_id", "run_id")}
    account = Account(workspace_id=workspace.id, task_id=task, **ids)
    charge(account, cost, **({"agent": "fixer", "model": "m1"} | extra))


def test_nothing_spent_is_no_error(api: Api, workspace: Workspace) -> None:
    body = api.get("costs/summary?days=7")
    assert (body["total_spend_usd"], body["total_tasks"], body["avg_cost_per_task"]) == (0, 0, 0)
    assert len(body["daily"]) == 7
    assert api.get("costs/tasks") == {"tasks": []}
    assert api.get("costs/by-agent")["by_agent"] == []
    assert api.get("costs/by-model") == {"by_model": []}
    assert api.get("costs/by-batch") == {"by_batch": []}


def test_days_are_whole_days_of_utc_the_oldest_first(api: Api, workspace: Workspace) -> None:
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    spend(workspace, "1", at=midnight)
    spend(workspace, "2", at=midnight - timedelta(microseconds=1))
    spend(workspace, "4", at=midnight - timedelta(days=7))
    body = api.get("costs/summary?days=2")
    assert [day["cost_usd"] for day in body["daily"]] == [2, 1]
    assert body["daily"][-1]["date"] == now.date().isoformat()
    assert body["total_spend_usd"] == 3
    assert api.get("costs/summary?days=1")["total_spend_usd"] == 1
    assert api.get("costs/summary?days=8")["total_spend_usd"] == 7
    assert len(api.get("costs/summary")["daily"]) == 30


def test_sums_carry_no_noise_and_the_average_leaves_other_calls_out(
    api: Api, workspace: Workspace
) -> None:
    a, b = uuid4(), uuid4()
    for _ in range(3):
        spend(workspace, "0.1", task=a)
    spend(workspace, "0.2", task=b)
    spend(workspace, "5")
    body = api.get("costs/summary")
    assert (body["total_spend_usd"], body["total_tasks"]) == (5.5, 2)
    assert body["avg_cost_per_task"] == 0.25


def test_an_unknown_price_is_counted_and_is_not_nothing(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a")
    spend(workspace, None, task=task.id)
    spend(workspace, "0", task=uuid4())
    spend(workspace, "1", task=uuid4())
    assert api.get("costs/summary")["unpriced_calls"] == 1
    rows = api.get("costs/tasks")["tasks"]
    assert [row["total_cost_usd"] for row in rows] == [1, 0, 0]
    assert (rows[-1]["task_title"], rows[-1]["unpriced_calls"]) == ("a", 1)


def test_tasks_by_cost_with_the_agent_that_called_most(api: Api, workspace: Workspace) -> None:
    task, gone = make_task(workspace, "Add login"), uuid4()
    for agent in ("zed", "zed", "abe", "abe", "once"):
        spend(workspace, "0.5", task=task.id, agent=agent)
    spend(workspace, "9", task=gone)
    spend(workspace, "100")
    rows = api.get("costs/tasks")["tasks"]
    assert [row["task_title"] for row in rows] == [f"Unknown task ({gone.hex[:8]})", "Add login"]
    assert (rows[1]["agent_id"], rows[1]["input_tokens"], rows[1]["output_tokens"]) == (
        "abe",
        50,
        5,
    )
    assert [row["task_id"] for row in api.get("costs/tasks?limit=1")["tasks"]] == [str(gone)]


def test_agents_models_and_batches(api: Api, workspace: Workspace) -> None:
    batch = uuid4()
    spend(
        workspace,
        "1",
        agent="a",
        model="m1",
        batch_id=batch,
        tokens=Tokens(input=10, cache_read=7, output=1),
    )
    spend(workspace, "2", agent="b", model="m1")
    body = api.get("costs/by-agent")
    assert [(row["agent_id"], row["call_count"]) for row in body["by_agent"]] == [
        ("b", 1),
        ("a", 1),
    ]
    assert (body["total_input_tokens"], body["total_output_tokens"]) == (20, 2)
    (model,) = api.get("costs/by-model")["by_model"]
    assert (model["model"], model["total_cost_usd"], model["cache_read_tokens"]) == ("m1", 3, 7)
    (row,) = api.get("costs/by-batch")["by_batch"]
    assert (row["batch_id"], row["total_cost_usd"]) == (str(batch), 1)


def test_a_batch_and_its_results_tell_their_cost(api: Api, workspace: Workspace) -> None:
    batch = batch_row(workspace)
    priced = run_row(batch, task=make_task(workspace, "a"))
    unpriced = run_row(batch, task=make_task(workspace, "b"), position=1)
    spend(workspace, "0.25", batch_id=batch.id, run_id=priced.id)
    spend(workspace, "0.5", batch_id=batch.id, run_id=priced.id)
    spend(workspace, None, batch_id=batch.id, run_id=unpriced.id)
    body = api.get(f"batches/{batch.id}")
    costs = [result["cost_usd"] for result in body["results"].values()]
    assert (body["cost_usd"], costs) == (0.75, [0.75, None])
    assert api.get(f"runs/{priced.id}")["cost_usd"] == 0.75
    assert api.get(f"runs/{unpriced.id}")["cost_usd"] is None


def test_costs_of_another_workspace_are_not_told(api: Api, workspace: Workspace) -> None:
    spend(known_workspace("other"), "7")
    assert api.get("costs/summary?workspace=shop")["total_spend_usd"] == 0
    assert api.get("costs/by-agent?workspace=shop")["by_agent"] == []


@pytest.mark.parametrize("path", ["summary", "tasks", "by-agent", "by-model", "by-batch"])
@pytest.mark.parametrize("days", ["0", "366", "x", "-1", "1.5", "9" * 50])
def test_the_range_has_one_rule_everywhere(
    api: Api, workspace: Workspace, path: str, days: str
) -> None:
    assert code_of(api("GET", f"costs/{path}?days={days}")) == (422, "VALIDATION_ERROR")
    for allowed in (1, 365):
        assert api("GET", f"costs/{path}?days={allowed}")[0] == 200
