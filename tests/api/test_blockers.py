from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from batches.jobs import execute_batch
from batches.models import Batch, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from tasks.models import Blocker, Task, Workspace
from tasks.models.blocker import BlockerStatus
from tasks.models.task import TaskStatus
from tests.api.client import Api, code_of
from tests.batches.conducting import conflicting, run_into_conflict
from tests.codeframe_site.rows import batch_row, run_row
from tests.factories import make_batch, make_task


def blocked(shop: Workspace, title: str = "a") -> Task:
    """With one open question of its last run."""
    task = make_task(shop, title, status=TaskStatus.BLOCKED)
    batch = Batch.objects.first() or batch_row(shop, BatchStatus.PARTIAL)
    position = Run.objects.count()
    run = run_row(batch, RunStatus.BLOCKED, task=task, title=title, position=position)
    Blocker.objects.create(task=task, run_id=run.id, reason="conflict", question="Which?")
    return task


def question_of(task: Task) -> str:
    return str(task.blockers.get().id)


@pytest.mark.django_db
class TestQuestions:
    def test_a_person_asks_about_a_task(self, api: Api, shop: Workspace) -> None:
        task = make_task(shop, "a")
        asked = {"task_id": str(task.id), "question": "Which colour?"}
        body = api.post("blockers", asked, status=201)
        assert (body["status"], body["created_by"], body["answer"]) == ("OPEN", "human", None)
        assert api.get(f"blockers/{body['id']}") == body
        assert api.post("blockers", asked, status=201)["id"] == body["id"]
        unknown = asked | {"task_id": str(uuid4())}
        assert code_of(api("POST", "blockers", unknown)) == (404, "NOT_FOUND")
        assert code_of(api("POST", "blockers", asked | {"question": ""}))[0] == 422

    def test_they_are_listed_the_oldest_first(self, api: Api, shop: Workspace) -> None:
        tasks = [blocked(shop, name) for name in "abc"]
        Blocker.objects.filter(task=tasks[1]).update(
            status=BlockerStatus.ANSWERED, answered_at=tasks[1].created_at
        )
        body = api.get("blockers")
        assert [b["task_id"] for b in body["blockers"]] == [str(task.id) for task in tasks]
        assert (body["total"], body["by_status"]) == (3, {"OPEN": 2, "ANSWERED": 1})
        some = api.get("blockers?status=open&order=-created")
        assert [b["task_id"] for b in some["blockers"]] == [str(tasks[2].id), str(tasks[0].id)]
        assert some["total"] == 2
        assert api.get(f"blockers?task_id={tasks[1].id}")["total"] == 1
        assert code_of(api("GET", "blockers?status=x")) == (400, "VALIDATION_ERROR")
        assert code_of(api("GET", "blockers?task_id=x")) == (422, "VALIDATION_ERROR")

    def test_an_answered_question_is_resolved_once(self, api: Api, shop: Workspace) -> None:
        path = f"blockers/{question_of(blocked(shop))}"
        early = api("POST", f"{path}/resolve", {})
        assert code_of(early) == (400, "INVALID_STATE")
        assert early[1]["detail"]["error"] == "Cannot resolve"
        api.post(f"{path}/answer", {"answer": "red", "resume": False})
        assert api.post(f"{path}/resolve")["status"] == "RESOLVED"
        assert code_of(api("POST", f"{path}/resolve", {})) == (400, "INVALID_STATE")

    def test_a_question_is_answered_once(self, api: Api, shop: Workspace) -> None:
        path = f"blockers/{question_of(blocked(shop))}/answer"
        assert code_of(api("POST", path, {"answer": ""})) == (422, "VALIDATION_ERROR")
        body = api.post(path, {"answer": "red", "resume": False})
        assert (body["answer"], body["answered_by"]) == ("red", "ada")
        assert code_of(api("POST", path, {"answer": "blue"})) == (409, "CONFLICT")

    def test_an_unknown_question_is_404(self, api: Api, shop: Workspace) -> None:
        for verb in ("answer", "resolve"):
            answer = api("POST", f"blockers/{uuid4()}/{verb}", {"answer": "red"})
            assert code_of(answer) == (404, "NOT_FOUND")


@pytest.mark.django_db
class TestAnswerSendsOn:
    def test_the_batch_goes_on_with_the_task(self, api: Api, shop: Workspace) -> None:
        task, other = blocked(shop, "a"), blocked(shop, "b")
        skipped = make_task(shop, "c", after=[task])
        batch = Batch.objects.get()
        run_row(batch, RunStatus.SKIPPED, task=skipped, position=7)
        body = api.post(f"blockers/{question_of(task)}/answer", {"answer": "red"})
        assert body["resumed_batch_id"] == str(batch.id)
        again = Run.objects.filter(status=RunStatus.QUEUED).values_list("task_id", flat=True)
        assert set(again) == {task.id, skipped.id}
        assert api.get(f"tasks/{other.id}")["status"] == "BLOCKED"

    def test_not_while_another_question_is_open(self, api: Api, shop: Workspace) -> None:
        task = blocked(shop)
        first = question_of(task)
        Blocker.objects.create(task=task, reason="question", question="And this?")
        body = api.post(f"blockers/{first}/answer", {"answer": "red"})
        assert body["resumed_batch_id"] is None
        assert "another question" in body["resumption"]
        assert api.get(f"tasks/{task.id}")["status"] == "BLOCKED"

    def test_not_when_the_caller_says_so(self, api: Api, shop: Workspace) -> None:
        task = blocked(shop)
        answer = {"answer": "red", "resume": False}
        body = api.post(f"blockers/{question_of(task)}/answer", answer)
        assert body["resumed_batch_id"] is None
        assert api.get(f"tasks/{task.id}")["status"] == "READY"
        assert Batch.objects.get().status == "PARTIAL"

    def test_the_answer_stays_when_another_batch_is_in_the_way(
        self, api: Api, shop: Workspace
    ) -> None:
        task = blocked(shop)
        make_task(shop, "b")
        api.post("tasks/execute")
        body = api.post(f"blockers/{question_of(task)}/answer", {"answer": "red"})
        assert (body["status"], body["resumed_batch_id"]) == ("ANSWERED", None)
        assert "nothing was started" in body["resumption"]
        assert api.get(f"tasks/{task.id}")["status"] == "READY"

    def test_a_task_that_never_ran_just_becomes_ready(self, api: Api, shop: Workspace) -> None:
        task = make_task(shop, "a", status=TaskStatus.BLOCKED)
        Blocker.objects.create(task=task, reason="question", question="Which?")
        body = api.post(f"blockers/{question_of(task)}/answer", {"answer": "red"})
        assert (body["status"], body["resumed_batch_id"]) == ("ANSWERED", None)
        assert api.get(f"tasks/{task.id}")["status"] == "READY"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("quick")
def test_a_conflict_that_is_answered_is_done_again_to_the_end(
    api: Api, shop: Workspace, tmp_path: Path, member: Callable[..., Api]
) -> None:
    first, second = conflicting(shop, tmp_path)
    batch = make_batch(shop)
    run_into_conflict(batch, first, tmp_path)
    open_ones = api.get("blockers?status=OPEN")["blockers"]
    assert [(b["task_id"], b["created_by"]) for b in open_ones] == [(str(second.id), "system")]
    path = f"blockers/{open_ones[0]['id']}/answer"
    assert code_of(member(shop, "viewer")("POST", path, {"answer": "x"}))[0] == 403
    body = api.post(path, {"answer": "take the second"})
    assert body["resumed_batch_id"] == str(batch.id)
    assert execute_batch(batch.id)
    told = api.get(f"batches/{batch.id}")
    assert (told["status"], told["results"][str(second.id)]["status"]) == ("COMPLETED",) * 2
