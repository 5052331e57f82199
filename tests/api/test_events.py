import pytest

from tasks.models import Event, EventCounter, Workspace
from tests.api.client import Api, code_of
from tests.api.rows import known_workspace
from tests.factories import make_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(db: None) -> Workspace:
    return known_workspace()


def add_events(workspace: Workspace, count: int, **columns: object) -> None:
    first = EventCounter.objects.get(workspace=workspace).seq + 1
    Event.objects.bulk_create(
        Event(workspace=workspace, seq=seq, **({"type": "TASK_CREATED"} | columns))
        for seq in range(first, first + count)
    )
    EventCounter.objects.filter(workspace=workspace).update(seq=first + count - 1)


def seqs(body: dict[str, list[dict[str, int]]]) -> list[int]:
    return [event["seq"] for event in body["events"]]


def test_the_newest_come_first_without_a_number(api: Api, workspace: Workspace) -> None:
    add_events(workspace, 5)
    body = api.get("events?limit=2")
    assert (seqs(body), body["next_after"], body["last_seq"]) == ([5, 4], 5, 5)


@pytest.mark.parametrize("name", ["after", "since_id"])
def test_a_reader_that_is_far_behind_misses_nothing(
    api: Api, workspace: Workspace, name: str
) -> None:
    add_events(workspace, 250)
    after, seen = 0, []
    while True:
        body = api.get(f"events?{name}={after}&limit=100")
        if not body["events"]:
            break
        seen += seqs(body)
        after = body["next_after"]
    assert seen == list(range(1, 251))


def test_a_filter_moves_the_cursor_past_what_it_left_out(api: Api, workspace: Workspace) -> None:
    add_events(workspace, 3)
    add_events(workspace, 1, type="TASK_STATUS")
    add_events(workspace, 3)
    body = api.get("events?after=0&type=TASK_STATUS")
    assert (seqs(body), body["next_after"]) == ([4], 7)
    add_events(workspace, 1, type="TASK_STATUS")
    assert seqs(api.get(f"events?after={body['next_after']}&type=TASK_STATUS")) == [8]


def test_events_of_one_task(api: Api, workspace: Workspace) -> None:
    task = make_task(workspace, "a")
    api("PATCH", f"tasks/{task.id}", {"priority": 5})
    add_events(workspace, 2)
    body = api.get(f"events?task_id={task.id}")
    event = body["events"][0]
    assert (len(body["events"]), event["type"], event["event_type"]) == (1, *["TASK_UPDATED"] * 2)
    assert (event["id"], event["task_id"]) == (event["seq"], str(task.id))
    assert event["payload"] == {"fields": ["priority"]}


def test_nothing_has_happened(api: Api, workspace: Workspace) -> None:
    body = api.get("events")
    assert (body["events"], body["next_after"], body["last_seq"]) == ([], 0, 0)
    assert api.get("events?after=7")["next_after"] == 7


@pytest.mark.parametrize(
    "query",
    [
        *(f"after={text}" for text in ("-1", "x", "9" * 30)),
        *("since_id=1.5", "limit=0", "limit=1001", "batch_id=7", "run_id=x", "task_id=x"),
    ],
)
def test_a_bad_query_is_422(api: Api, workspace: Workspace, query: str) -> None:
    assert code_of(api("GET", f"events?{query}")) == (422, "VALIDATION_ERROR")


def test_every_change_of_a_task_is_an_event(api: Api, workspace: Workspace) -> None:
    task = api.post("tasks", {"title": "a"}, status=201)
    other = api.post("tasks", {"title": "b"}, status=201)
    path = f"tasks/{task['id']}"
    api("PATCH", path, {"title": "c", "depends_on": [other["id"]], "status": "READY"})
    api("DELETE", path)
    body = api.get("events?after=0")
    assert [event["type"] for event in body["events"] if event["task_id"] == task["id"]] == [
        "TASK_CREATED",
        "TASK_UPDATED",
        "TASK_UPDATED",
        "TASK_STATUS",
        "TASK_DELETED",
    ]
    assert seqs(body) == list(range(1, len(body["events"]) + 1))
