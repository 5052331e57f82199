from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from batches.models import Batch
from tasks.models import Event, Task, Workspace
from tasks.models.task import TaskStatus
from tests.api.client import Api, code_of
from tests.factories import make_task


def backlog(shop: Workspace, *titles: str) -> list[Task]:
    return [make_task(shop, title, status=TaskStatus.BACKLOG) for title in titles]


def statuses() -> dict[str, str]:
    return dict(Task.objects.values_list("title", "status"))


@pytest.mark.django_db
class TestApprove:
    def test_everything_in_backlog_becomes_ready(self, api: Api, shop: Workspace) -> None:
        tasks = backlog(shop, "a", "b")
        make_task(shop, "parts", status=TaskStatus.BACKLOG, is_leaf=False)
        make_task(shop, "done", status=TaskStatus.DONE)
        body = api.post("tasks/approve")
        assert (body["approved_count"], body["excluded_count"], body["batch_id"]) == (2, 0, None)
        assert set(body["approved_task_ids"]) == {str(task.id) for task in tasks}
        assert body["message"] == "Approved 2 task(s)."
        assert statuses() == {"a": "READY", "b": "READY", "parts": "BACKLOG", "done": "DONE"}
        assert Event.objects.filter(type="TASK_STATUS").count() == 2

    def test_only_some(self, api: Api, shop: Workspace) -> None:
        a, b = backlog(shop, "a", "b")
        body = api.post("tasks/approve", {"task_ids": [str(a.id), str(a.id)]})
        assert (body["approved_task_ids"], body["excluded_task_ids"]) == ([str(a.id)], [str(b.id)])
        assert statuses() == {"a": "READY", "b": "BACKLOG"}

    def test_all_but_some(self, api: Api, shop: Workspace) -> None:
        a, b = backlog(shop, "a", "b")
        body = api.post("tasks/approve", {"excluded_task_ids": [str(a.id)]})
        assert (body["approved_task_ids"], body["excluded_task_ids"]) == ([str(b.id)], [str(a.id)])

    def test_none(self, api: Api, shop: Workspace) -> None:
        backlog(shop, "a")
        body = api.post("tasks/approve", {"task_ids": []})
        assert (body["approved_count"], body["excluded_count"]) == (0, 1)
        assert statuses() == {"a": "BACKLOG"}

    def test_nothing_to_approve_is_no_error(self, api: Api, shop: Workspace) -> None:
        body = api.post("tasks/approve", {"start_execution": True})
        assert (body["success"], body["approved_count"], body["batch_id"]) == (True, 0, None)
        assert body["message"] == "No tasks to approve (no BACKLOG tasks found)."

    def test_more_than_a_page_of_them(self, api: Api, shop: Workspace) -> None:
        Task.objects.bulk_create(Task(workspace=shop, title=f"t{n}") for n in range(250))
        assert api.post("tasks/approve")["approved_count"] == 250

    @pytest.mark.parametrize("case", ["unknown", "ready", "composite"])
    @pytest.mark.parametrize("field", ["task_ids", "excluded_task_ids"])
    def test_ids_that_are_no_leaf_in_backlog_are_422(
        self, api: Api, shop: Workspace, field: str, case: str
    ) -> None:
        backlog(shop, "a")
        wrong = {
            "unknown": lambda: str(uuid4()),
            "ready": lambda: str(make_task(shop, "b").id),
            "composite": lambda: str(
                make_task(shop, "b", status=TaskStatus.BACKLOG, is_leaf=False).id
            ),
        }[case]()
        status, body = api("POST", "tasks/approve", {field: [wrong]})
        assert code_of((status, body)) == (422, "INVALID_TASK_IDS")
        assert wrong in body["detail"]["detail"]
        assert statuses()["a"] == "BACKLOG"

    def test_both_lists_at_once_are_422(self, api: Api, shop: Workspace) -> None:
        (a,) = backlog(shop, "a")
        both = {"task_ids": [str(a.id)], "excluded_task_ids": [str(a.id)]}
        assert code_of(api("POST", "tasks/approve", both)) == (422, "VALIDATION_ERROR")

    def test_an_unknown_field_is_422(self, api: Api, shop: Workspace) -> None:
        assert code_of(api("POST", "tasks/approve", {"ids": []})) == (422, "VALIDATION_ERROR")

    def test_approved_tasks_run_at_once(self, api: Api, shop: Workspace) -> None:
        (a,) = backlog(shop, "a")
        make_task(shop, "ready before")
        response = api.raw("POST", "tasks/approve", {"start_execution": True, "engine": "agent"})
        body = response.json()
        assert body["message"].startswith("Approved 1 task(s) and started execution (batch ")
        assert response.headers["Location"] == f"/api/v2/batches/{body['batch_id']}"
        batch = api.get(f"batches/{body['batch_id']}")
        assert (batch["task_ids"], batch["strategy"]) == ([str(a.id)], "serial")

    def test_a_batch_in_the_way_is_409_and_nothing_is_approved(
        self, api: Api, shop: Workspace
    ) -> None:
        make_task(shop, "ready")
        api.post("tasks/execute")
        answer = api("POST", "tasks/approve", {"start_execution": True})
        assert code_of(answer) == (409, "CONFLICT")  # first of all, also with nothing to approve
        backlog(shop, "a")
        answer = api("POST", "tasks/approve", {"start_execution": True})
        assert code_of(answer) == (409, "CONFLICT")
        assert statuses()["a"] == "BACKLOG"
        assert Batch.objects.count() == 1
        assert api.post("tasks/approve")["approved_count"] == 1

    @pytest.mark.parametrize("wrong", [{"engine": "react"}, {"gates": ["nonexistent"]}])
    def test_a_batch_that_cannot_start_approves_nothing(
        self, api: Api, shop: Workspace, wrong: dict[str, Any]
    ) -> None:
        backlog(shop, "a")
        answer = api("POST", "tasks/approve", {"start_execution": True} | wrong)
        assert code_of(answer) == (422, "VALIDATION_ERROR")
        assert statuses() == {"a": "BACKLOG"}

    def test_an_unmet_dependency_approves_nothing(self, api: Api, shop: Workspace) -> None:
        (a,) = backlog(shop, "a")
        b = make_task(shop, "b", status=TaskStatus.BACKLOG, after=[a])
        answer = api("POST", "tasks/approve", {"task_ids": [str(b.id)], "start_execution": True})
        assert code_of(answer) == (422, "INVALID_TASK_IDS")
        assert statuses() == {"a": "BACKLOG", "b": "BACKLOG"}
        assert Event.objects.count() == 0


# -- two at once ---------------------------------------------------------------------------------


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What each gives, all begun at the same moment, each with a connection of its own."""
    barrier, answers = Barrier(len(calls)), [None] * len(calls)

    def work(place: int) -> None:
        try:
            barrier.wait(60)
            answers[place] = calls[place]()
        finally:
            connection.close()

    threads = [Thread(target=work, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return answers


@pytest.mark.django_db(transaction=True)
class TestTogether:
    def test_of_two_starts_exactly_one_makes_a_batch(self, api: Api, shop: Workspace) -> None:
        backlog(shop, "a")
        make_task(shop, "b")
        ways = [
            lambda: api("POST", "tasks/approve", {"start_execution": True})[0],
            lambda: api("POST", "tasks/execute", {})[0],
            lambda: api("POST", "tasks/execute", {})[0],
        ]
        assert sorted(together(*ways)) == [200, 409, 409]
        assert Batch.objects.count() == 1
        approved = statuses()["a"] == "READY"
        assert approved == (Batch.objects.get().origin == "approve")

    def test_of_two_approvals_each_task_is_in_one(self, api: Api, shop: Workspace) -> None:
        backlog(shop, "a", "b", "c")
        bodies = together(*[lambda: api.post("tasks/approve")] * 2)
        assert sorted(body["approved_count"] for body in bodies) == [0, 3]
        assert Event.objects.filter(type="TASK_STATUS").count() == 3

    def test_two_changes_that_make_a_cycle_together(self, api: Api, shop: Workspace) -> None:
        a, b = backlog(shop, "a", "b")
        ways = [
            lambda: api("PATCH", f"tasks/{a.id}", {"depends_on": [str(b.id)]})[0],
            lambda: api("PATCH", f"tasks/{b.id}", {"depends_on": [str(a.id)]})[0],
        ]
        assert sorted(together(*ways)) == [200, 422]

    def test_of_two_moves_one_is_told_that_it_lost(self, api: Api, shop: Workspace) -> None:
        task = make_task(shop, "a", status=TaskStatus.READY)
        path = f"tasks/{task.id}"
        ways = [
            lambda: api("PATCH", path, {"status": "IN_PROGRESS"})[0],
            lambda: api("PATCH", path, {"status": "BACKLOG"})[0],
        ]
        codes = sorted(together(*ways))
        assert codes[0] == 200
        assert codes[1] in (400, 409)
        assert Event.objects.filter(type="TASK_STATUS").count() == 1

    def test_a_change_and_a_deletion(self, api: Api, shop: Workspace) -> None:
        task = make_task(shop, "a")
        path = f"tasks/{task.id}"
        ways = [lambda: api("DELETE", path)[0]] * 2
        codes = together(*ways, lambda: api("PATCH", path, {"title": "b"})[0])
        assert sorted(codes[:2]) == [200, 404]
        assert codes[2] in (200, 404)
        assert Event.objects.filter(type="TASK_DELETED").count() == 1
