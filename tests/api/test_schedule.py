from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tasks.models import Workspace
from tasks.models.task import TaskStatus
from tests.api.client import Api, code_of
from tests.api.rows import known_workspace
from tests.codeframe_site.rows import batch_row, run_row
from tests.factories import make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def day(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def test_an_empty_workspace_is_done(api: Api, workspace: Workspace) -> None:
    body = api.get("schedule")
    assert (body["task_assignments"], body["total_duration"], body["agents_used"]) == ([], 0, 0)
    body = api.get("schedule/predict")
    assert (body["completed_percentage"], body["remaining_hours"]) == (100.0, 0)
    assert api.get("schedule/bottlenecks") == []


def test_the_longest_chain_begins_first_and_finished_work_is_left_out(
    api: Api, workspace: Workspace
) -> None:
    done = make_task(workspace, "done", status=TaskStatus.DONE, estimated_hours=100)
    merged = make_task(workspace, "merged", status=TaskStatus.MERGED, estimated_hours=100)
    a = make_task(workspace, "a", estimated_hours=2, after=[done])
    b = make_task(workspace, "b", estimated_hours=3, after=[a, merged])
    c = make_task(workspace, "c", estimated_hours=1)
    make_task(workspace, "parts", is_leaf=False, estimated_hours=100)
    body = api.get("schedule?agents=2")
    slots = {slot["title"]: slot for slot in body["task_assignments"]}
    assert {t: (s["start_time"], s["end_time"]) for t, s in slots.items()} == {
        "a": (0, 2),
        "b": (2, 5),
        "c": (0, 1),
    }
    assert (body["total_duration"], body["agents_used"]) == (5, 2)
    assert body["critical_path"] == [str(a.id), str(b.id)]
    assert api.get("schedule")["total_duration"] == 6
    bottlenecks = api.get("schedule/bottlenecks")
    kinds = [(row["task_title"], row["bottleneck_type"]) for row in bottlenecks]
    assert kinds == [("b", "dependencies"), ("a", "duration")]
    predicted = api.get("schedule/predict?hours_per_day=1.5")
    assert predicted["remaining_hours"] == 6
    assert predicted["completed_percentage"] == 40.0
    assert predicted["predicted_date"] in (day(4), day(4.001))
    assert str(c.id) in {slot["task_id"] for slot in body["task_assignments"]}


def test_what_nobody_estimated_takes_as_long_as_runs_took(api: Api, workspace: Workspace) -> None:
    make_task(workspace, "a")
    assert api.get("schedule")["total_duration"] == 1
    batch = batch_row(workspace)
    now = timezone.now()
    for position, hours in enumerate((1, 3, 40)):
        begun = now - timedelta(hours=hours)
        run_row(batch, position=position, started_at=begun, finished_at=now)
    body = api.get("schedule")
    assert (body["total_duration"], body["default_hours"]) == (3, 3)


def test_an_estimate_of_nothing_is_an_estimate(api: Api, workspace: Workspace) -> None:
    make_task(workspace, "a", estimated_hours=0)
    assert api.get("schedule")["total_duration"] == 0


@pytest.mark.parametrize(
    "query",
    [
        *(f"schedule?agents={text}" for text in ("0", "65", "x", "1.5")),
        *(f"schedule/predict?hours_per_day={t}" for t in ("0", "25", "x", "nan", "inf", "-1")),
    ],
)
def test_a_bad_query_is_422(api: Api, workspace: Workspace, query: str) -> None:
    assert code_of(api("GET", query)) == (422, "VALIDATION_ERROR")
