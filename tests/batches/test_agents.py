"""Agents that misbehave, seen from the batch."""

import os
import sys
from pathlib import Path

import pytest

from batches.models import Run
from batches.models.run import LIVE
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    last_run,
    lines,
    marked_processes,
    repository,
    run_batch,
    statuses,
    task_status,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.fakes import AGENT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def output_of(run: Run) -> str:
    events = Event.objects.filter(run_id=run.id, type="RUN_OUTPUT").order_by("seq")
    return "".join(event.payload["text"] for event in events)


def test_a_time_out_bounds_an_agent_whose_output_flows(workspace: Workspace) -> None:
    """Case 29: it was not enforced while lines came. Case 17: one end, timed out."""
    task = make_task(workspace, "a", "tick 100000 0.05")
    batch = run_batch(make_batch(workspace, timeout_s=1))
    assert (last_run(task).status, last_run(task).reason) == ("FAILED", "timeout")
    assert batch.status == "FAILED"


def test_a_time_out_bounds_a_silent_agent(workspace: Workspace) -> None:
    """Fault 13: one hung task blocked the batch for ever."""
    task = make_task(workspace, "a", "sleep 300", priority=0)
    make_task(workspace, "b", priority=1)
    batch = run_batch(make_batch(workspace, timeout_s=1, max_parallel=1))
    assert last_run(task).reason == "timeout"
    assert statuses(batch) == {"a": "FAILED", "b": "COMPLETED"}


def test_silence_is_bounded_too(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "print hello", "sleep 300")
    run_batch(make_batch(workspace, stall_timeout_s=1))
    assert (last_run(task).status, last_run(task).reason) == ("FAILED", "stalled")


def test_a_large_prompt_and_large_output_do_not_wait_for_each_other(workspace: Workspace) -> None:
    """Case 30: 128 KB are written before the 128 KB prompt is read."""
    task = make_task(workspace, "a", "spam 1300 100", "read-stdin", "write a.txt x")
    task.description += "\n" + "tea " * 32_000
    task.save()
    argv = [*AGENT, "spam 1300 100", "read-stdin", "write a.txt x"]
    engine = {"kind": "command", "argv": argv, "prompt_via": "stdin", "pass_env": []}
    batch = run_batch(make_batch(workspace, engine_options=engine))
    assert batch.status == "COMPLETED"
    assert last_run(task).output_bytes > 130_000
    assert output_of(last_run(task)).rstrip().endswith("bytes")


@pytest.mark.parametrize("size", [200_000, 3_000_000])
def test_a_line_may_have_any_length(workspace: Workspace, size: int) -> None:
    """Case 31: a line beyond 64 KiB killed the reader, and the run hung."""
    task = make_task(workspace, "a", f"line {size}", "print the end", "write a.txt x")
    batch = run_batch(make_batch(workspace))
    assert batch.status == "COMPLETED"
    run = last_run(task)
    assert run.output_bytes == size + 1 + len("the end\n")
    assert run.last_line == "the end"


def test_output_may_be_any_bytes(workspace: Workspace) -> None:
    """Case 34."""
    task = make_task(workspace, "a", "raw 00 e9 ff 0a", "print ok", "write a.txt x")
    batch = run_batch(make_batch(workspace))
    assert batch.status == "COMPLETED"
    assert last_run(task).last_line == "ok"


def test_stdin_is_at_its_end(workspace: Workspace) -> None:
    """Case 32: programs waited for ever for the end of their input."""
    task = make_task(workspace, "a", 'sh "cat > /dev/null; echo ok"', "write a.txt x")
    batch = run_batch(make_batch(workspace))
    assert batch.status == "COMPLETED"
    assert last_run(task).last_line == "ok"


def test_an_agent_that_changes_nothing_has_not_completed(workspace: Workspace) -> None:
    """Case 33: exit 0 and no work was a success."""
    task = make_task(workspace, "a", "print all done")
    batch = run_batch(make_batch(workspace))
    assert (last_run(task).status, last_run(task).reason) == ("FAILED", "no_changes")
    assert batch.status == "FAILED"
    assert task_status(task) == "FAILED"


def test_an_agent_may_change_nothing_where_that_was_expected(workspace: Workspace) -> None:
    make_task(workspace, "a", "print looked", expects_changes=False)
    assert run_batch(make_batch(workspace)).status == "COMPLETED"


def test_nothing_edits_the_tree_after_the_agent_has_ended(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Case 33: it exits 0 and leaves a child that edits files later."""
    late = tmp_path / "late.txt"
    make_task(workspace, "a", "write a.txt x", f"fork-late-write {late} 60")
    batch = run_batch(make_batch(workspace))
    assert batch.status == "COMPLETED"
    assert not marked_processes()
    assert not late.exists()


def test_a_crashed_agent_leaves_no_active_run(workspace: Workspace) -> None:
    """Regression, case 4: a killed engine left its run RUNNING, and a resume skipped it."""
    task = make_task(workspace, "a", "write half.txt x", "crash")
    batch = run_batch(make_batch(workspace))
    assert (last_run(task).status, last_run(task).reason) == ("FAILED", "agent_killed")
    assert not Run.objects.filter(status__in=LIVE).exists()
    assert batch.status == "FAILED"


def test_a_second_batch_of_a_crashed_task_is_not_in_the_way_of_its_rests(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Case 38: branch and tree of the crashed run blocked the next."""
    task = make_task(
        workspace, "a", f"count {tmp_path}/starts", f"sh test -e {tmp_path}/ok", "write a.txt x"
    )
    run_batch(make_batch(workspace, [task]))
    (tmp_path / "ok").touch()
    batch = run_batch(make_batch(workspace, [task]))
    assert (batch.status, batch.landing) == ("COMPLETED", "landed")
    assert len(lines(tmp_path / "starts")) == 2


def test_an_agent_works_in_a_tree_of_its_own(workspace: Workspace, tmp_path: Path) -> None:
    """Regression: an agent edited the server's own checkout."""
    task = make_task(
        workspace, "a", f"env {tmp_path}/env", f"sh pwd -P > {tmp_path}/pwd", "touch x"
    )
    run_batch(make_batch(workspace))
    where = Path((tmp_path / "pwd").read_text().strip())
    assert where.name == last_run(task).id.hex
    assert repository(workspace) not in (where, *where.parents)
    assert Path(os.getcwd()) not in (where, *where.parents)
    assert str(Path(sys.prefix)) not in (tmp_path / "env").read_text()
    assert not where.exists()
