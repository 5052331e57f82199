"""A model and a budget for a batch."""

from decimal import Decimal
from typing import Any

import pytest

from batches.errors import InvalidOptions
from batches.models import Batch
from batches.options import BatchOptions
from tasks.models import Workspace
from tasks.models.task import TaskStatus
from tests.api.client import Api, code_of
from tests.factories import make_task

pytestmark = pytest.mark.django_db
START = {"tasks/execute": {}, "tasks/approve": {"start_execution": True}}


@pytest.fixture(autouse=True)
def _tasks(shop: Workspace) -> None:
    make_task(shop, "a")
    make_task(shop, "b", status=TaskStatus.BACKLOG)


@pytest.mark.parametrize("path", START)
def test_they_are_kept_and_shown(api: Api, path: str) -> None:
    asked = {"model": "large-2", "budget": 2.5001, "allow_unpriced": True}
    batch_id = api.post(path, START[path] | asked)["batch_id"]
    shown = api.get(f"batches/{batch_id}")
    assert {name: shown[name] for name in asked} == asked
    assert Batch.objects.get().budget == Decimal("2.5001")


def test_without_them_there_is_no_limit_and_the_engine_chooses(api: Api) -> None:
    shown = api.get(f"batches/{api.post('tasks/execute')['batch_id']}")
    assert (shown["model"], shown["budget"], shown["allow_unpriced"]) == ("", None, False)


@pytest.mark.parametrize("path", START)
def test_a_budget_that_nothing_would_keep_to_is_refused(api: Api, path: str) -> None:
    status, body = api("POST", path, START[path] | {"budget": 5})
    assert code_of((status, body)) == (422, "VALIDATION_ERROR")
    assert "allow_unpriced" in body["detail"]["errors"]["budget"][0]
    assert Batch.objects.count() == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("budget", 0),
        ("budget", -1),
        ("budget", 0.00001),
        ("budget", 1.00001),
        ("budget", 1e9),
        ("budget", "5"),
        ("budget", True),
        ("budget", []),
        ("budget", 10**400),
        ("model", "x" * 201),
        ("model", 7),
        ("allow_unpriced", "yes"),
    ],
)
def test_what_is_no_budget_or_model_is_422(api: Api, field: str, value: Any) -> None:
    answer = api("POST", "tasks/execute", {"allow_unpriced": True} | {field: value})
    assert code_of(answer) == (422, "VALIDATION_ERROR")
    assert field in str(answer[1]["detail"])
    assert Batch.objects.count() == 0


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "0", "0.00001", "1000001"])
def test_no_other_way_in_takes_a_budget_that_is_none(text: str) -> None:
    with pytest.raises(InvalidOptions, match="budget"):
        BatchOptions(budget=Decimal(text))
