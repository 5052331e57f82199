from typing import Any
from uuid import uuid4

import pytest

from batches import lifecycle
from batches.models import Batch, CommandEngine, Run
from batches.models.batch import BatchStatus
from tasks.models import Task, Workspace
from tasks.models.task import TaskStatus
from tests.api.client import Api, code_of
from tests.factories import make_task

pytestmark = pytest.mark.django_db


def test_a_batch_of_named_tasks_has_every_option_that_was_given(api: Api, shop: Workspace) -> None:
    a = make_task(shop, "a")
    make_task(shop, "b")
    asked = {
        "task_ids": [str(a.id)],
        "strategy": "parallel",
        "max_parallel": 7,
        "retry_count": 3,
        "on_failure": "stop",
        "engine": "agent",
        "isolation": "worktree",
        "gates": "none",
        "timeout_s": 99,
        "stall_timeout_s": 88,
        "land": "branch",
    }
    response = api.raw("POST", "tasks/execute", asked)
    body = response.json()
    assert response.status_code == 200, body
    assert response.headers["Location"] == f"/api/v2/batches/{body['batch_id']}"
    assert (body["success"], body["task_count"], body["dry_run"]) == (True, 1, False)
    assert (body["strategy"], body["engine"]) == ("parallel", "agent")
    batch = api.get(f"batches/{body['batch_id']}")
    assert batch["task_ids"] == [str(a.id)]
    told = {name: batch[name] for name in asked if name in batch and name != "task_ids"}
    assert told == {name: value for name, value in asked.items() if name != "task_ids"}
    assert batch["created_by"] == "ada"


def test_without_ids_every_ready_leaf_runs_one_at_a_time(api: Api, shop: Workspace) -> None:
    ready = [make_task(shop, name) for name in "ab"]
    make_task(shop, "later", status=TaskStatus.BACKLOG)
    make_task(shop, "parts", is_leaf=False)
    body = api.post("tasks/execute")
    batch = api.get(f"batches/{body['batch_id']}")
    assert set(batch["task_ids"]) == {str(task.id) for task in ready}
    assert (batch["strategy"], batch["max_parallel"], batch["retry_count"]) == ("serial", 1, 0)


def test_an_empty_list_runs_nothing(api: Api, shop: Workspace) -> None:
    make_task(shop, "a")
    status, body = api("POST", "tasks/execute", {"task_ids": []})
    assert code_of((status, body)) == (400, "INVALID_REQUEST")
    assert body["detail"]["error"] == "No tasks to execute"
    assert Batch.objects.count() == 0


def test_null_ids_mean_all_that_are_ready(api: Api, shop: Workspace) -> None:
    make_task(shop, "a")
    assert api.post("tasks/execute", {"task_ids": None})["task_count"] == 1


def test_nothing_ready_is_400(api: Api, shop: Workspace) -> None:
    assert code_of(api("POST", "tasks/execute", {})) == (400, "INVALID_REQUEST")


def test_named_tasks_need_no_other_ready_one(api: Api, shop: Workspace) -> None:
    failed = make_task(shop, "a", status=TaskStatus.FAILED)
    waiting = make_task(shop, "b", status=TaskStatus.BACKLOG)
    ids = [str(failed.id), str(waiting.id)]
    assert api.post("tasks/execute", {"task_ids": ids})["task_count"] == 2


def test_repeated_ids_count_once(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    body = api.post("tasks/execute", {"task_ids": [str(task.id)] * 3})
    assert body["task_count"] == 1
    assert api.get(f"batches/{body['batch_id']}")["counts"]["total"] == 1


@pytest.mark.parametrize("case", ["unknown", "done", "composite", "blocked", "outside"])
def test_tasks_that_cannot_run_are_422_by_name(api: Api, shop: Workspace, case: str) -> None:
    wanted = {
        "unknown": lambda: str(uuid4()),
        "done": lambda: str(make_task(shop, "a", status=TaskStatus.DONE).id),
        "composite": lambda: str(make_task(shop, "a", is_leaf=False).id),
        "blocked": lambda: str(make_task(shop, "a", status=TaskStatus.BLOCKED).id),
        "outside": lambda: str(make_task(shop, "a", after=[make_task(shop, "b")]).id),
    }[case]()
    status, body = api("POST", "tasks/execute", {"task_ids": [wanted]})
    assert code_of((status, body)) == (422, "INVALID_TASK_IDS")
    assert (wanted if case == "unknown" else "a") in body["detail"]["detail"]
    assert Batch.objects.count() == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strategy", "bogus"),
        ("strategy", "auto"),
        ("max_parallel", 0),
        ("max_parallel", 65),
        ("max_parallel", "4"),
        ("retry_count", -1),
        ("retry_count", 11),
        ("engine", "react"),
        ("engine", "command"),
        ("engine", 7),
        ("on_failure", "shrug"),
        ("isolation", "chroot"),
        ("gates", "some"),
        ("gates", []),
        ("gates", ["nonexistent"]),
        ("gates", [1]),
        ("gates", {}),
        ("timeout_s", -1),
        ("timeout_s", 10**9),
        ("stall_timeout_s", 1.5),
        ("land", "now"),
        ("pass_env", ["HOME"]),
        ("prompt_via", "stdin"),
        ("dry_run", "yes"),
        ("task_ids", "all"),
        ("paralel", 4),
    ],
)
def test_an_option_that_makes_no_sense_is_422(
    api: Api, shop: Workspace, field: str, value: Any
) -> None:
    make_task(shop, "a")
    status, body = api("POST", "tasks/execute", {field: value})
    assert code_of((status, body)) == (422, "VALIDATION_ERROR"), body
    assert Batch.objects.count() == 0


def test_a_second_batch_is_409_and_told_which_is_in_the_way(api: Api, shop: Workspace) -> None:
    make_task(shop, "a")
    first = api.post("tasks/execute")["batch_id"]
    make_task(shop, "b")
    status, body = api("POST", "tasks/execute", {})
    assert code_of((status, body)) == (409, "CONFLICT")
    assert body["detail"]["error"] == "A batch is already running in this workspace"
    assert first[:8] in body["detail"]["detail"]


def test_which_engine_must_be_said_where_there_are_several(api: Api, shop: Workspace) -> None:
    make_task(shop, "a")
    CommandEngine.objects.create(name="other", argv=["true"])
    assert code_of(api("POST", "tasks/execute", {})) == (422, "VALIDATION_ERROR")
    assert api.post("tasks/execute", {"engine": "other"})["engine"] == "other"


def test_a_dry_run_tells_the_order_and_writes_nothing(api: Api, shop: Workspace) -> None:
    a = make_task(shop, "a")
    b = make_task(shop, "b", after=[a])
    c = make_task(shop, "c", after=[a])
    body = api.post("tasks/execute", {"dry_run": True})
    assert (body["batch_id"], body["dry_run"], body["task_count"]) == (None, True, 3)
    assert body["waves"] == [[str(a.id)], [str(b.id), str(c.id)]]
    assert Batch.objects.count() == 0
    answer = api("POST", "tasks/execute", {"dry_run": True, "task_ids": [str(uuid4())]})
    assert code_of(answer) == (422, "INVALID_TASK_IDS")


def test_assignment_status_counts_leaves(api: Api, shop: Workspace) -> None:
    body = api.get("tasks/assignment-status")
    assert (body["can_assign"], body["reason"]) == (False, "No pending tasks to assign.")
    make_task(shop, "a")
    make_task(shop, "parts", is_leaf=False)
    body = api.get("tasks/assignment-status")
    assert (body["pending_count"], body["can_assign"]) == (1, True)
    assert body["reason"] == "1 task(s) ready for assignment."
    make_task(shop, "b", status=TaskStatus.IN_PROGRESS)
    body = api.get("tasks/assignment-status")
    assert (body["executing_count"], body["can_assign"]) == (1, False)
    assert body["reason"] == "Execution already in progress (1 task(s) running)."


# -- one task ------------------------------------------------------------------------------------


def test_one_task_is_started_as_a_batch_of_its_own(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    make_task(shop, "b")
    response = api.raw("POST", f"tasks/{task.id}/start?execute=true&engine=agent")
    body = response.json()
    assert response.status_code == 200, body
    assert (body["status"], body["executing"]) == ("executing", True)
    assert response.headers["Location"] == f"/api/v2/runs/{body['run_id']}"
    assert api.get(f"batches/{body['batch_id']}")["task_ids"] == [str(task.id)]
    assert api.get(f"tasks/{task.id}/run")["run_id"] == body["run_id"]


@pytest.mark.parametrize("status", [TaskStatus.DONE, TaskStatus.MERGED, TaskStatus.BLOCKED])
def test_a_task_in_no_state_to_start_is_400(api: Api, shop: Workspace, status: TaskStatus) -> None:
    task = make_task(shop, "a", status=status)
    code, body = api("POST", f"tasks/{task.id}/start", {})
    assert code_of((code, body)) == (400, "INVALID_STATE")
    assert body["detail"]["error"] == "Cannot start"


def test_a_start_refuses_what_it_would_have_to_ignore(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    for query in ("execute=false", "dry_run=true", "execute=7", "engine=react"):
        answer = api("POST", f"tasks/{task.id}/start?{query}", {})
        assert code_of(answer) == (422, "VALIDATION_ERROR")
    assert Batch.objects.count() == 0


def test_a_second_start_is_409(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    api.post(f"tasks/{task.id}/start")
    assert code_of(api("POST", f"tasks/{task.id}/start", {})) == (409, "CONFLICT")


def test_a_start_that_has_not_begun_is_stopped_for_good(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    run_id = api.post(f"tasks/{task.id}/start")["run_id"]
    body = api.post(f"tasks/{task.id}/stop")
    assert (body["run_id"], body["status"], body["executing"]) == (run_id, "CANCELLED", False)
    answer = api("POST", f"tasks/{task.id}/stop", {})
    assert code_of(answer) == (400, "INVALID_STATE")
    assert answer[1]["detail"]["error"] == "Cannot stop"


def test_one_of_several_that_wait_is_not_stopped_by_itself(api: Api, shop: Workspace) -> None:
    a = make_task(shop, "a")
    make_task(shop, "b")
    api.post("tasks/execute")
    assert code_of(api("POST", f"tasks/{a.id}/stop", {})) == (400, "INVALID_STATE")


def test_a_task_goes_on_in_the_batch_it_had(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    first = api.post(f"tasks/{task.id}/start")
    api.post(f"batches/{first['batch_id']}/cancel")
    body = api.post(f"tasks/{task.id}/resume?execute=true")
    assert body["batch_id"] == first["batch_id"]
    assert body["run_id"] != first["run_id"]
    assert (body["status"], body["executing"]) == ("RUNNING", True)
    assert Run.objects.get(id=body["run_id"]).attempt == 2


def test_a_task_that_never_ran_or_is_busy_cannot_be_resumed(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    status, body = api("POST", f"tasks/{task.id}/resume", {})
    assert code_of((status, body)) == (400, "INVALID_STATE")
    assert body["detail"]["error"] == "Cannot resume"
    api.post(f"tasks/{task.id}/start")
    assert api("POST", f"tasks/{task.id}/resume", {})[0] == 400


def test_a_task_that_never_ran_has_no_run(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    status, body = api("GET", f"tasks/{task.id}/run")
    assert code_of((status, body)) == (404, "NOT_FOUND")
    assert body["detail"]["error"] == "No run found"
    assert api.get(f"tasks/{task.id}/runs")["runs"] == []


@pytest.mark.parametrize("verb", ["start", "stop", "resume"])
def test_an_unknown_task_is_404(api: Api, shop: Workspace, verb: str) -> None:
    assert code_of(api("POST", f"tasks/{uuid4()}/{verb}", {})) == (404, "NOT_FOUND")


def test_a_task_that_a_batch_needs_cannot_be_deleted(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    batch_id = api.post("tasks/execute")["batch_id"]
    assert code_of(api("DELETE", f"tasks/{task.id}")) == (409, "CONFLICT")
    lifecycle.cancel_batch(batch_id=batch_id)
    assert api("DELETE", f"tasks/{task.id}")[0] == 200
    batch = api.get(f"batches/{batch_id}")
    assert (batch["task_ids"], batch["status"]) == ([], BatchStatus.CANCELLED)
    assert [result["title"] for result in batch["results"].values()] == ["a"]
    assert Task.objects.count() == 0
