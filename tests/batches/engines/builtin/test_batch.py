"""The built-in agent through a whole batch: a real repository, real processes, real rows."""

import os
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from batches import admission
from batches.answering import send_on
from batches.errors import InvalidOptions
from batches.models import Batch, Run
from batches.models.run import RunStatus
from costs.models import Usage as UsageRow
from tasks.blockers import answer_blocker
from tasks.models import Blocker, Workspace
from tests.batches.conducting import (
    conducting,
    event_types,
    last_run,
    marked_processes,
    on_branch,
    run_batch,
    wait_until,
)
from tests.batches.engines.builtin.running import KEY
from tests.factories import make_batch, make_task, make_workspace
from tests.fakes.model_server import (
    Call,
    ModelServer,
    Script,
    Turn,
    Usage,
    model_server,
    stall,
    status,
)

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "claude-sonnet-4-5"
NAMES = ("input", "cache_read", "cache_write", "output")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TEST_KEY", KEY)
    return make_workspace(tmp_path)


def batch_of(workspace: Workspace, server: ModelServer, **changes: Any) -> Batch:
    engine_options = {
        "kind": "builtin",
        "provider": "anthropic",
        "base_url": server.url,
        "key_name": "TEST_KEY",
        "retries": 1,
    }
    return make_batch(
        workspace, engine="builtin", engine_options=engine_options, model=MODEL, **changes
    )


def written(name: str, text: str = "made\n", **usage: int) -> Turn:
    call = Call("create_file", {"path": name, "content": text})
    return Turn("I make it.", [call], usage=Usage(**usage))


def recorded(batch: Batch) -> dict[str, int]:
    sums = UsageRow.objects.filter(batch_id=batch.id).aggregate(
        **{name: Sum(f"{name}_tokens") for name in NAMES}
    )
    return {name: sums[name] or 0 for name in NAMES}


def told(server: ModelServer) -> dict[str, int]:
    return {name: getattr(server.told, name) for name in NAMES}


def agent_pids() -> list[int]:
    return [pid for pid in marked_processes() if b"agent.py\0" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_tasks_are_done_and_every_token_is_in_the_ledger(workspace: Workspace) -> None:
    tasks = [make_task(workspace, f"Job {name}") for name in "ab"]
    scripts = [
        Script(
            [written(f"{n}.txt", input=1_000 + n, cache_read=50, output=30), Turn("Done.")], when=w
        )
        for n, w in ((1, "Job a"), (2, "Job b"))
    ]
    with model_server(scripts=scripts) as server:
        batch = run_batch(batch_of(workspace, server))
        assert batch.status == "COMPLETED", last_run(tasks[0]).message
        assert recorded(batch) == told(server)
        rows = UsageRow.objects.filter(batch_id=batch.id)
        assert rows.count() == len(server.answered) == 4
    assert {on_branch(batch, "1.txt"), on_branch(batch, "2.txt")} == {"made"}
    assert {row.model for row in rows} == {MODEL}
    assert {row.agent for row in rows} == {"builtin"}
    assert all(row.task_id for row in rows)
    # 2,203 fresh at $3, 100 cached at $0.30, 80 out at $15, per million
    assert rows.aggregate(sum=Sum("cost_usd"))["sum"] == Decimal("0.007839")


def test_a_refused_key_fails_the_task_at_once(workspace: Workspace) -> None:
    task = make_task(workspace)
    with model_server(Turn("", faults=[status(401, times=9)])) as server:
        run_batch(batch_of(workspace, server, max_retries=2))
        assert len(server.requests) == 1
    run = last_run(task)
    assert (run.status, run.reason) == (RunStatus.FAILED, "auth")
    assert KEY not in run.message


def test_an_agent_that_changed_nothing_has_not_done_its_task(workspace: Workspace) -> None:
    task = make_task(workspace)
    with model_server(Turn("All done, trust me.")) as server:
        run_batch(batch_of(workspace, server))
    assert last_run(task).reason == "no_changes"


def test_a_question_waits_for_its_answer_and_the_session_goes_on(workspace: Workspace) -> None:
    task = make_task(workspace)
    ask = Turn("Hm.", [Call("ask", {"question": "Red or blue?"})])
    with model_server(ask, written("colour.txt", "blue\n"), Turn("Blue.")) as server:
        batch = run_batch(batch_of(workspace, server))
        assert last_run(task).status == RunStatus.BLOCKED
        blocker = Blocker.objects.get(task=task)
        assert blocker.question == "Red or blue?"
        answer_blocker(blocker=blocker, answer="Blue, please", by="ada")
        assert send_on(blocker=blocker, by="ada").batch == batch
        batch = run_batch(batch)
        assert batch.status == "COMPLETED", last_run(task).message
        asked = str(server.requests[1].body["messages"])
        assert recorded(batch) == told(server)
    assert "Blue, please" in asked
    assert "Hm." in asked
    assert on_branch(batch, "colour.txt") == "blue"


def test_a_kill_while_usage_streams_loses_and_doubles_nothing(workspace: Workspace) -> None:
    """The run is begun again by itself; what both attempts used is in the ledger once."""
    task = make_task(workspace)
    turns = [written(f"{n}.txt", input=100 * n, output=n) for n in range(1, 4)]
    silent = Turn("A long story that is told slowly", faults=[stall()])
    with model_server(*turns, silent) as server:
        batch = batch_of(workspace, server, max_retries=1)
        with conducting(batch):
            wait_until(lambda: len(server.requests) == 4, "the fourth request is there")
            (pid,) = agent_pids()
            os.kill(pid, signal.SIGKILL)
        assert recorded(batch) == told(server)
    assert Run.objects.filter(task=task).count() == 2
    assert event_types(batch, prefix="RUN_USAGE")


def test_the_server_says_where_its_own_model_is(workspace: Workspace, settings: Any) -> None:
    make_task(workspace)
    with model_server(written("a.txt", input=5), Turn("Done.")) as server:
        settings.BUILTIN_OPTIONS = {
            "provider": "openai",
            "base_url": f"{server.url}/v1",
            "key_name": "",
            "model": "local-model",
            "max_turns": 2,
        }
        chosen = admission.engine_options("builtin")
        batch = run_batch(make_batch(workspace, engine="builtin", engine_options=chosen))
    assert batch.status == "COMPLETED"
    assert UsageRow.objects.filter(batch_id=batch.id, cost_usd=None).count() == 2  # unpriced


def test_wrong_options_are_told_before_anything_starts(workspace: Workspace, settings: Any) -> None:
    make_task(workspace)
    settings.BUILTIN_OPTIONS = {"max_turns": "many"}
    with pytest.raises(InvalidOptions, match="max_turns must be a whole number"):
        make_batch(workspace, engine="builtin", engine_options={"kind": "builtin"}, model=MODEL)
