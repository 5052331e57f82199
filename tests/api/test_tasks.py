from uuid import uuid4

import pytest

from tasks.models import Event, Task, Workspace
from tasks.models.task import TaskStatus
from tests.api.client import Api, code_of
from tests.api.rows import known_workspace
from tests.factories import make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace("shop")


def test_a_task_is_created_with_all_that_was_given(api: Api, workspace: Workspace) -> None:
    first = api.post("tasks", {"title": "first"}, status=201)
    body = api.post(
        "tasks",
        {
            "title": "  Add login ",
            "description": " keep me\n",
            "priority": 2,
            "depends_on": [first["id"]],
            "estimated_hours": 2.5,
            "complexity_score": 3,
            "uncertainty_level": "low",
            "expects_changes": False,
            "auto_close_github_issue": True,
            "status": "ready",
            "key": "login",
        },
        status=201,
    )
    assert body == api.get(f"tasks/{body['id']}")
    assert body["title"] == "Add login"
    assert body["description"] == " keep me\n"
    assert body["depends_on"] == [first["id"]]
    assert (body["status"], body["priority"], body["key"]) == ("READY", 2, "login")
    assert (body["estimated_hours"], body["complexity_score"]) == (2.5, 3)
    assert body["auto_close_github_issue"] is True
    assert body["expects_changes"] is False
    kinds = list(Event.objects.order_by("seq").values_list("type", flat=True))
    assert kinds[:2] == ["TASK_CREATED", "TASK_CREATED"]


def test_the_answer_to_a_creation_says_where_the_task_is(api: Api, workspace: Workspace) -> None:
    response = api.raw("POST", "tasks", {"title": "a"})
    assert response.headers["Location"] == f"/api/v2/tasks/{response.json()['id']}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""),
        ("title", "   "),
        ("title", "x" * 501),
        ("title", 7),
        ("title", None),
        ("title", ["a"]),
        ("description", "x" * 200_001),
        ("description", {"a": 1}),
        ("priority", -1),
        ("priority", 2**31),
        ("priority", 10**400),
        ("priority", "1"),
        ("priority", True),
        ("priority", 1.5),
        ("depends_on", "abc"),
        ("depends_on", [1]),
        ("depends_on", ["abc"]),
        ("depends_on", [None]),
        ("estimated_hours", -0.1),
        ("estimated_hours", 1e999),
        ("estimated_hours", "nan"),
        ("estimated_hours", "3"),
        ("estimated_hours", True),
        ("complexity_score", 0),
        ("complexity_score", 6),
        ("uncertainty_level", "huge"),
        ("uncertainty_level", []),
        ("expects_changes", "yes"),
        ("expects_changes", 1),
        ("status", "DONE"),
        ("status", 3),
        ("id", "5d0c7e1a-1111-4111-8111-111111111111"),
        ("titel", "misspelt"),
    ],
)
def test_a_bad_value_is_422_and_nothing_is_made(
    api: Api, workspace: Workspace, field: str, value: object
) -> None:
    status, body = api("POST", "tasks", {"title": "a"} | {field: value})
    assert code_of((status, body)) == (422, "VALIDATION_ERROR"), body
    assert Task.objects.count() == 0


def test_a_bad_field_is_named_with_its_sentence(api: Api, workspace: Workspace) -> None:
    _, body = api("POST", "tasks", {"title": "", "priority": -1})
    assert set(body["detail"]["errors"]) == {"title", "priority"}


def test_an_unknown_dependency_is_404_and_a_task_of_elsewhere_too(
    api: Api, workspace: Workspace
) -> None:
    stranger = make_task(known_workspace("other"))
    for wanted in (str(uuid4()), str(stranger.id)):
        answer = api("POST", "tasks?workspace=shop", {"title": "a", "depends_on": [wanted]})
        assert code_of(answer) == (404, "NOT_FOUND")
    assert Task.objects.filter(workspace=workspace).count() == 0


def test_a_key_is_unique_in_a_workspace(api: Api, workspace: Workspace) -> None:
    api.post("tasks", {"title": "a", "key": "k"}, status=201)
    assert code_of(api("POST", "tasks", {"title": "b", "key": "k"})) == (409, "CONFLICT")


def test_a_change_keeps_what_it_does_not_name(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a", priority=3, estimated_hours=4)
    status, body = api("PATCH", f"tasks/{task.id}", {"title": "b", "estimated_hours": None})
    assert status == 200
    assert (body["title"], body["priority"], body["estimated_hours"]) == ("b", 3, None)
    assert body["description"] == task.description
    assert body["updated_at"] > body["created_at"]


def test_a_status_is_read_in_any_case_and_moves_last(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a", status=TaskStatus.READY)
    status, body = api("PATCH", f"tasks/{task.id}", {"status": "In-Progress", "title": "b"})
    assert (status, body["status"], body["title"]) == (200, "IN_PROGRESS", "b")
    kinds = Event.objects.order_by("seq").values_list("type", flat=True)
    assert list(kinds) == ["TASK_UPDATED", "TASK_STATUS"]


def test_a_move_that_is_not_allowed_is_400_and_undoes_the_rest(
    api: Api, workspace: Workspace
) -> None:
    task = make_task(workspace, "a", status=TaskStatus.BACKLOG)
    status, body = api("PATCH", f"tasks/{task.id}", {"title": "b", "status": "DONE"})
    assert code_of((status, body)) == (400, "INVALID_STATE")
    assert body["detail"]["error"] == "Invalid status transition"
    task.refresh_from_db()
    assert task.title == "a"
    assert Event.objects.count() == 0


def test_the_same_status_again_is_no_move(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a", status=TaskStatus.READY)
    answer = api("PATCH", f"tasks/{task.id}", {"status": "READY"})
    assert code_of(answer) == (400, "INVALID_STATE")


def test_a_status_that_does_not_exist_is_400(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a")
    for answer in (
        api("PATCH", f"tasks/{task.id}", {"status": "SLEEPING"}),
        api("GET", "tasks?status=SLEEPING"),
    ):
        assert code_of(answer) == (400, "VALIDATION_ERROR")
        assert "Invalid status: SLEEPING" in answer[1]["detail"]["detail"]


def test_a_cycle_is_refused_and_named(api: Api, workspace: Workspace) -> None:
    a = make_task(workspace, "a")
    b = make_task(workspace, "b", after=[a])
    c = make_task(workspace, "c", after=[b])
    status, body = api("PATCH", f"tasks/{a.id}", {"depends_on": [str(c.id)]})
    assert code_of((status, body)) == (422, "VALIDATION_ERROR")
    assert "a -> c -> b -> a" in body["detail"]["detail"]
    assert api.get(f"tasks/{a.id}")["depends_on"] == []
    answer = api("PATCH", f"tasks/{a.id}", {"depends_on": [str(a.id)]})
    assert code_of(answer) == (422, "VALIDATION_ERROR")


def test_dependencies_are_replaced_and_repeated_ones_count_once(
    api: Api, workspace: Workspace
) -> None:
    a, b, c = (make_task(workspace, name) for name in "abc")
    api("PATCH", f"tasks/{c.id}", {"depends_on": [str(a.id)]})
    _, body = api("PATCH", f"tasks/{c.id}", {"depends_on": [str(b.id), str(b.id)]})
    assert body["depends_on"] == [str(b.id)]
    _, body = api("PATCH", f"tasks/{c.id}", {"depends_on": []})
    assert body["depends_on"] == []


def test_a_deleted_task_is_gone_and_no_other_waits_for_it(api: Api, workspace: Workspace) -> None:
    a = make_task(workspace, "a")
    b = make_task(workspace, "b", after=[a])
    status, body = api("DELETE", f"tasks/{a.id}")
    assert (status, body["success"]) == (200, True)
    assert body["message"] == f"Task {a.id.hex[:8]} deleted successfully"
    assert api.get(f"tasks/{b.id}")["depends_on"] == []
    assert list(Event.objects.values_list("type", flat=True)) == ["TASK_DELETED"]
    for method in ("GET", "PATCH", "DELETE"):
        assert code_of(api(method, f"tasks/{a.id}", {})) == (404, "NOT_FOUND")


def test_a_list_is_counted_filtered_and_searched(api: Api, workspace: Workspace) -> None:
    parent = make_task(workspace, "Parent", is_leaf=False, status=TaskStatus.BACKLOG)
    make_task(workspace, "Sell tea", parent=parent)
    make_task(workspace, "Sell %coffee%", status=TaskStatus.DONE)
    body = api.get("tasks")
    assert (body["total"], body["by_status"]) == (3, {"BACKLOG": 1, "READY": 1, "DONE": 1})
    assert [task["title"] for task in api.get("tasks?status=ready")["tasks"]] == ["Sell tea"]
    some = api.get("tasks?status=done,ready&order=title")
    assert [task["title"] for task in some["tasks"]] == ["Sell %coffee%", "Sell tea"]
    assert some["total"] == 2
    assert [task["title"] for task in api.get("tasks?q=%25COF")["tasks"]] == ["Sell %coffee%"]
    assert api.get(f"tasks?parent={parent.id}")["total"] == 1
    assert [task["title"] for task in api.get("tasks?leaf=false")["tasks"]] == ["Parent"]


def test_tasks_are_sorted_by_priority_and_then_by_age(api: Api, workspace: Workspace) -> None:
    for title, priority in (("late", 1), ("later", 1), ("urgent", 0)):
        make_task(workspace, title, priority=priority)
    titles = [task["title"] for task in api.get("tasks")["tasks"]]
    assert titles == ["urgent", "late", "later"]
    titles = [task["title"] for task in api.get("tasks?order=-created")["tasks"]]
    assert titles == ["urgent", "later", "late"]


@pytest.mark.parametrize(
    "query",
    [
        *(f"limit={text}" for text in ("0", "1001", "x", "-1", "1e3", "9" * 400)),
        *("order=colour", "leaf=perhaps", "parent=7", "q=%00", "%00=q"),
        *("cursor=zzz", "cursor=" + "e" * 9000, "cursor=" + "W" * 1900),
    ],
)
def test_a_bad_query_is_422(api: Api, workspace: Workspace, query: str) -> None:
    assert code_of(api("GET", f"tasks?{query}")) == (422, "VALIDATION_ERROR")
