"""What is left of a run when real agents have worked on a real repository."""

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from batches.jobs import execute_batch
from batches.models import Batch, Run
from codeframe_site.models import Scope
from tasks.models import Workspace
from tests.api.client import Api, code_of
from tests.batches.conducting import conducting, last_run, wait_until
from tests.codeframe_site.rows import batch_row, run_row
from tests.factories import make_task
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
ODD = "raw 00ff0a0d"


def run_all(api: Api, **options: object) -> Batch:
    batch = Batch.objects.get(
        id=api.post("tasks/execute", {"land": "branch"} | options)["batch_id"]
    )
    assert execute_batch(batch.id)
    batch.refresh_from_db()
    return batch


def test_a_run_tells_its_stages_output_and_change(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a", "print hello", "write a.txt one")
    batch = run_all(api)
    told = api.get(f"batches/{batch.id}")
    assert told["status"] == "COMPLETED"
    result = told["results"][str(task.id)]
    assert (result["status"], result["attempt"], result["files_changed"]) == ("COMPLETED", 1, 1)
    assert result["duration_s"] > 0
    assert result["cost_usd"] is None
    run = api.get(f"runs/{result['run_id']}")
    assert {"tree", "agent", "capture"} <= {stage["name"] for stage in run["stages"]}
    assert all(stage["outcome"] == "ok" for stage in run["stages"])
    assert run["last_line"] == "hello"
    latest = api.get(f"tasks/{task.id}/run")
    assert (latest["run_id"], latest["has_output"]) == (run["run_id"], True)
    assert latest["message"] == f"Run {run['run_id'][:8]} is COMPLETED"


def test_output_is_read_by_range_as_the_bytes_it_was(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a", "print first", ODD, "stderr bad", "write a.txt one")
    run_all(api)
    run = last_run(task)
    whole = api.raw("GET", f"runs/{run.id}/output")
    assert whole.content == b"first\n\x00\xff\n\r"
    assert whole.headers["Content-Disposition"].startswith("attachment")
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    part = api.raw("GET", f"runs/{run.id}/output?offset=2&limit=3")
    assert (part.content, part.headers["X-Offset"], part.headers["X-Next-Offset"]) == (
        b"rst",
        "2",
        "5",
    )
    assert api.raw("GET", f"runs/{run.id}/output?stream=stderr").content == b"bad\n"
    assert b"".join(followed(api, run)) == whole.content
    beyond = api.raw("GET", f"runs/{run.id}/output?offset=999999")
    assert (beyond.content, beyond.headers["X-Ended"]) == (b"", "1")


def followed(api: Api, run: Run) -> Iterator[bytes]:
    """As a program does: until there is no more."""
    offset = "0"
    while True:
        part = api.raw("GET", f"runs/{run.id}/output?offset={offset}&limit=4")
        yield part.content
        offset = part.headers["X-Next-Offset"]
        if part.headers["X-Ended"] == "1":
            return


@pytest.mark.parametrize(
    "query", ["stream=both", "offset=-1", "limit=x", "limit=9999999", "offset=99999999999999999"]
)
def test_a_bad_range_is_422(api: Api, query: str) -> None:
    run = run_row(batch_row(Workspace.objects.create(name="w", repo_path="/w")))
    assert code_of(api("GET", f"runs/{run.id}/output?{query}")) == (422, "VALIDATION_ERROR")


def test_a_patch_makes_the_same_bytes_again(api: Api, shop: Workspace, tmp_path: Path) -> None:
    repo = Path(shop.repo_path)
    task = make_task(
        shop,
        "a",
        r'write "sub dir/é.txt" "no newline\r\nat the end"',
        "sh \"printf '\\\\000\\\\377\\\\r\\\\n' > odd.bin; chmod +x odd.bin\"",
        "delete README.md",
        "write -- --odd-name",
    )
    batch = run_all(api)
    run = last_run(task)
    assert run.status == "COMPLETED", run.message
    response = api.raw("GET", f"runs/{run.id}/patch")
    assert response.headers["X-Total"] == str(len(response.content))
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", "--no-local", str(repo), str(copy))
    subprocess.run(
        ["git", "apply", "--index", "--whitespace=nowarn"],
        cwd=copy,
        input=response.content,
        check=True,
    )
    made = git(copy, "write-tree")
    assert made == git(repo, "rev-parse", f"{batch.branch}^{{tree}}")
    pieces, offset = [], 0
    while offset < len(response.content):
        piece = api.raw("GET", f"runs/{run.id}/patch?offset={offset}&limit=37")
        pieces.append(piece.content)
        offset = int(piece.headers["X-Next-Offset"])
    assert b"".join(pieces) == response.content


def test_a_run_without_a_change_has_no_patch(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a", "exit 3")
    run_all(api)
    run = last_run(task)
    assert run.status == "FAILED"
    assert code_of(api("GET", f"runs/{uuid4()}/patch")) == (404, "NOT_FOUND")
    queued = run_row(batch_row(shop))
    assert code_of(api("GET", f"runs/{queued.id}/patch")) == (404, "NOT_FOUND")


def test_a_repository_that_is_gone_gives_no_patch_and_no_500(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a")
    run_all(api)
    Path(shop.repo_path).rename(f"{shop.repo_path}-gone")
    answer = api("GET", f"runs/{last_run(task).id}/patch")
    assert code_of(answer) == (404, "NOT_FOUND")


def test_every_attempt_stays_in_the_history(api: Api, shop: Workspace) -> None:
    task = make_task(shop, "a", "fail-until 3", "write a.txt one")
    batch = run_all(api, retry_count=2)
    assert batch.status == "COMPLETED"
    runs = api.get(f"tasks/{task.id}/runs")["runs"]
    assert [run["attempt"] for run in runs] == [3, 2, 1]
    assert [run["superseded"] for run in runs] == [False, True, True]
    failed = api.get(f"tasks/{task.id}/runs?status=failed&order=created")["runs"]
    assert [run["attempt"] for run in failed] == [1, 2]
    of_batch = api.get(f"batches/{batch.id}/runs?limit=2")
    rest = api.get(f"batches/{batch.id}/runs?limit=2&cursor={of_batch['next_cursor']}")
    assert [run["attempt"] for run in of_batch["runs"] + rest["runs"]] == [3, 2, 1]
    assert rest["next_cursor"] is None


def test_a_running_task_is_stopped_and_its_end_waited_for(
    api: Api, shop: Workspace, tmp_path: Path
) -> None:
    flag = tmp_path / "started"
    task = make_task(shop, "a", f"touch {flag}", "sleep 300")
    started = api.post(f"tasks/{task.id}/start")
    batch = Batch.objects.get(id=started["batch_id"])
    with conducting(batch):
        wait_until(flag.exists)
        busy = api.get("tasks/assignment-status")
        assert (busy["executing_count"], busy["can_assign"]) == (1, False)
        response = api.raw("POST", f"tasks/{task.id}/stop", {}, Prefer="wait=30")
        assert response.status_code == 200, response.json()
        assert response.headers["Preference-Applied"] == "wait=30"
        assert (response.json()["status"], response.json()["executing"]) == ("CANCELLED", False)
    assert api.get(f"tasks/{task.id}")["status"] == "READY"
    answer = api("POST", f"runs/{started['run_id']}/stop", {})
    assert code_of(answer) == (400, "INVALID_STATE")


def test_a_batch_is_cancelled_while_it_runs(api: Api, shop: Workspace, tmp_path: Path) -> None:
    flag = tmp_path / "started"
    make_task(shop, "a", f"touch {flag}", "sleep 300")
    make_task(shop, "b")
    batch = Batch.objects.get(id=api.post("tasks/execute")["batch_id"])
    with conducting(batch):
        wait_until(flag.exists)
        status, body = api("POST", f"batches/{batch.id}/cancel", {"reason": "wrong branch"})
        assert (status, body["status"]) in ((202, "CANCELLING"), (200, "CANCELLED"))
    told = api.get(f"batches/{batch.id}")
    assert (told["status"], told["message"]) == ("CANCELLED", "wrong branch")
    assert told["counts"]["cancelled"] == 2


def test_a_batch_is_stopped_after_what_runs(api: Api, shop: Workspace, tmp_path: Path) -> None:
    flag, go = tmp_path / "started", tmp_path / "go"
    make_task(shop, "a", f"touch {flag}", f"wait-file {go}", "write a.txt one", priority=0)
    make_task(shop, "b", priority=1)
    batch = Batch.objects.get(id=api.post("tasks/execute")["batch_id"])
    with conducting(batch):
        wait_until(flag.exists)
        status, body = api("POST", f"batches/{batch.id}/stop", {})
        assert (status, body["status"]) == (202, "CANCELLING")
        go.touch()
    counts = api.get(f"batches/{batch.id}")["counts"]
    assert (counts["completed"], counts["cancelled"]) == (1, 1)


def test_a_batch_goes_on_with_what_failed(api: Api, shop: Workspace) -> None:
    make_task(shop, "good", "write good.txt one")
    bad = make_task(shop, "bad", "fail-until 2", "write bad.txt one")
    batch = run_all(api)
    assert batch.status == "PARTIAL"
    status, body = api("POST", f"batches/{batch.id}/resume", {})
    assert (status, body["status"], body["round"]) == (202, "PENDING", 2)
    assert code_of(api("POST", f"batches/{batch.id}/resume", {})) == (400, "INVALID_STATE")
    assert execute_batch(batch.id)
    told = api.get(f"batches/{batch.id}")
    assert told["status"] == "COMPLETED"
    assert told["results"][str(bad.id)]["attempt"] == 2
    answer = api("POST", f"batches/{batch.id}/resume", {})
    assert code_of(answer) == (400, "INVALID_STATE")
    assert answer[1]["detail"]["error"] == "Cannot resume batch"


def test_a_caller_may_wait_for_a_resumed_batch(api: Api, shop: Workspace) -> None:
    make_task(shop, "a", "fail-until 2", "write a.txt one")
    batch = run_all(api)
    answers: list[tuple[int, str]] = []

    def resume() -> None:
        status, body = api(
            "POST", f"batches/{batch.id}/resume", {}, Prefer="respond-async, wait=30"
        )
        answers.append((status, body["status"]))

    asking = threading.Thread(target=resume)
    asking.start()
    wait_until(lambda: Batch.objects.get(id=batch.id).status == "PENDING")
    assert execute_batch(batch.id)
    asking.join(60)
    assert answers == [(200, "COMPLETED")]


def test_some_tasks_are_done_again(api: Api, shop: Workspace) -> None:
    one = make_task(shop, "one", "exit 1")
    two = make_task(shop, "two", "exit 1")
    batch = run_all(api)
    status, body = api("POST", f"batches/{batch.id}/retry", {"task_ids": [str(one.id)]})
    assert status == 202
    assert body["results"][str(one.id)]["status"] == "QUEUED"
    assert body["results"][str(two.id)]["status"] == "FAILED"
    api.post(f"batches/{batch.id}/cancel")
    answer = api("POST", f"batches/{batch.id}/retry", {"task_ids": [str(uuid4())]})
    assert code_of(answer) == (422, "INVALID_TASK_IDS")
    for wrong in ({}, {"task_ids": []}, {"task_ids": None}):
        assert code_of(api("POST", f"batches/{batch.id}/retry", wrong)) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("verb", ["stop", "cancel", "resume", "retry"])
def test_an_unknown_batch_is_404(api: Api, verb: str) -> None:
    answer = api("POST", f"batches/{uuid4()}/{verb}", {"task_ids": [str(uuid4())]})
    assert code_of(answer) == (404, "NOT_FOUND")
    assert code_of(api("GET", f"batches/{uuid4()}")) == (404, "NOT_FOUND")


@pytest.mark.parametrize("verb", ["stop", "cancel"])
def test_a_finished_batch_cannot_be_stopped(api: Api, shop: Workspace, verb: str) -> None:
    batch = batch_row(shop)
    status, body = api("POST", f"batches/{batch.id}/{verb}", {})
    assert code_of((status, body)) == (400, "INVALID_STATE")
    assert body["detail"]["error"] == f"Cannot {verb} batch"
    assert code_of(api("POST", f"batches/{batch.id}/{verb}", {"force": "x"}))[0] == 422


def test_a_free_command_line_is_for_those_who_set_up_engines(
    make_api: object, shop: Workspace, member: object
) -> None:
    from tasks.models import AuditEntry

    make_task(shop, "a")
    asked = {"engine": "command", "command": "true --really", "pass_env": ["LANG"]}
    for caller in (make_api(Scope.WRITE), member(shop, "admin", Scope.ADMIN)):
        for path in ("tasks/execute", "tasks/approve"):
            answer = caller("POST", path, asked | _starting(path))
            assert code_of(answer) == (403, "FORBIDDEN"), path
    assert AuditEntry.objects.filter(action="engine.command").count() == 0
    admin = make_api(Scope.ADMIN)
    body = admin.post("tasks/execute", asked)
    assert body["engine"] == "command"
    batch = Batch.objects.get(id=body["batch_id"])
    assert batch.engine_options["argv"] == ["true", "--really"]
    row = AuditEntry.objects.get(action="engine.command")
    assert (row.user, row.subject, row.detail["argv"]) == ("ada", "shop", ["true", "--really"])


def _starting(path: str) -> dict[str, bool]:
    return {"start_execution": True} if path.endswith("approve") else {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": "true | false"},
        {"command": "'"},
        {"command": "/nowhere/agent"},
        {"engine": "agent", "command": "true"},
        {"engine": "command"},
        {"command": "true", "pass_env": ["NOT A NAME"]},
        {"command": "true", "prompt_via": "pigeon"},
    ],
)
def test_a_command_line_that_cannot_run_is_422(
    make_api: object, shop: Workspace, wrong: dict[str, object]
) -> None:
    make_task(shop, "a")
    answer = make_api(Scope.ADMIN)("POST", "tasks/execute", wrong)
    assert code_of(answer) == (422, "VALIDATION_ERROR"), answer
    assert Batch.objects.count() == 0
