"""runbatch as a person or cron calls it: what it prints, and the exit code it leaves with."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands.site import ROOT, Done, Site, wait_for
from tests.repos import git

pytestmark = pytest.mark.acceptance
RUN = ("runbatch", "-w", "shop", "--engine", "fixer")
READY = (*RUN, "--all-ready")


def result_of(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = done.objects[-1]["result"]
    return found


def test_everything_completed_is_0(shop: Site, repo: Path) -> None:
    shop.add_task("shop", "one")
    shop.add_task("shop", "two")
    done = shop.run(*READY)
    assert (done.code, done.err) == (0, "")
    assert "one: started, attempt 1" in done.out
    assert "two: COMPLETED" in done.out
    assert done.lines[-3].startswith("batch ")
    assert "COMPLETED" in done.lines[-3]
    assert git(repo, "show", "main:one.txt") == "done"


def test_a_night_without_work_is_quiet_and_0(shop: Site) -> None:
    done = shop.run(*READY)
    assert (done.code, done.out) == (0, "")
    assert done.err == "nothing to do: no task of this workspace is READY\n"


def test_a_task_that_failed_is_1_and_told_with_its_reason(shop: Site) -> None:
    shop.add_task("shop", "good")
    shop.add_task("shop", "bad", "stderr out of ideas", "exit 3")
    done = shop.run(*READY)
    assert done.code == 1
    assert "bad: FAILED (engine_error): " in done.out
    assert "out of ideas" in done.out
    batch = shop.batch_in("PARTIAL")[:8]
    assert done.lines[-1].endswith(f"manage.py batch resume {batch}")


def test_json_is_one_object_a_line_and_ends_with_the_result(shop: Site) -> None:
    task = shop.add_task("shop", "Grüße", "print \N{SNOWMAN}", 'write "a.txt" a')
    done = shop.run(*READY, "--json", PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    events, result = done.objects[:-1], result_of(done)
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert events[0]["type"] == "BATCH_CREATED"
    assert events[-1]["type"] == "BATCH_COMPLETED"
    assert "\N{SNOWMAN}\n" in [e["payload"]["text"] for e in events if e["type"] == "RUN_OUTPUT"]
    assert (result["status"], result["batch"]) == ("COMPLETED", events[0]["batch_id"])
    (row,) = result["tasks"]
    assert (row["title"], row["status"]) == ("Grüße", "COMPLETED")
    assert row["task"].startswith(task)


def test_lines_come_while_it_runs(shop: Site, tmp_path: Path) -> None:
    """Fault of block buffers: a log that stays empty until the end."""
    shop.add_task("shop", "slow", f"wait-file {tmp_path}/go", "write a.txt a")
    running = shop.start(*READY)
    wait_for(lambda: "slow: agent" in running.out, "the log tells that the agent is at work")
    assert running.process.poll() is None
    (tmp_path / "go").touch()
    assert running.end().code == 0


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_signal_cancels_keeps_the_work_says_so_and_is_130(
    number: signal.Signals, shop: Site, repo: Path, tmp_path: Path
) -> None:
    shop.add_task("shop", "slow", "write half.txt half", f"touch {tmp_path}/at", "sleep 300")
    shop.add_task("shop", "later")
    running = shop.start(*READY, "--strategy", "serial")
    wait_for((tmp_path / "at").exists, "the agent is at work")
    running.send(number)
    done = running.end()
    assert (done.code, done.err) == (130, "")
    assert f"cancel requested: interrupted by {number.name}" in done.out
    assert "slow: work saved as " in done.out
    assert "CANCELLED, interrupted by" in done.out
    assert "batch resume" in done.lines[-1]
    assert shop.rows("SELECT status FROM tasks_task") == [("READY",)] * 2
    (run,) = shop.rows("SELECT id FROM batches_run WHERE title = 'slow'")
    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/codeframe/runs")
    (ref,) = [ref for ref in refs.splitlines() if ref.replace("-", "").endswith(run[0])]
    assert git(repo, "show", f"{ref}:half.txt") == "half"
    assert wait_for(lambda: not shop.agents(), "no agent lives")


def test_a_second_ctrl_c_changes_nothing(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", "trap-term", f"touch {tmp_path}/at", "sleep 300", "sleep 300")
    running = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    running.send(signal.SIGINT)
    wait_for(lambda: "cancel requested" in running.out, "the first is heard")
    running.send(signal.SIGINT)
    done = running.end()
    assert (done.code, done.err) == (130, "")


def test_a_cancel_from_elsewhere_is_4(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", f"touch {tmp_path}/at", "sleep 300")
    running = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    batch = shop.batch_in("RUNNING")
    told = shop.good("batch", "cancel", batch, "--reason", "too dear").out
    assert "is CANCELLING: work done so far is kept" in told
    done = running.end()
    assert (done.code, done.err) == (4, "")
    assert "CANCELLED, too dear" in done.out


def test_of_two_at_once_one_wins_and_the_other_is_3(shop: Site) -> None:
    shop.add_task("shop", "one", "sleep 1", "write a.txt a")
    ended = [running.end() for running in [shop.start(*READY), shop.start(*READY)]]
    lost, won = sorted(ended, key=lambda done: -done.code)
    assert (won.code, lost.code) == (0, 3)
    ((batch,),) = shop.rows("SELECT id FROM batches_batch")
    assert f"Error: batch {batch[:8]} is " in lost.err
    assert len(lost.err.splitlines()) == 1


def test_a_busy_workspace_is_3_and_the_file_is_not_imported(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "slow", f"touch {tmp_path}/at", f"wait-file {tmp_path}/go", "exit 1")
    running = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    (tmp_path / "more.md").write_text("- [ ] more\n")
    done = shop.run(*RUN, "--tasks-file", str(tmp_path / "more.md"))
    assert (done.code, done.out) == (3, "")
    assert f"Error: batch {shop.batch_in('RUNNING')[:8]} is RUNNING" in done.err
    assert shop.rows("SELECT title FROM tasks_task") == [("slow",)]
    (tmp_path / "go").touch()
    assert running.end().code == 1


def test_a_dry_run_shows_waves_and_writes_nothing(shop: Site, tmp_path: Path) -> None:
    path = tmp_path / "tasks.md"
    path.write_text("1. [ ] base\n2. [ ] top\n\nText.\n\n- [ ] alone\n- [x] done\n")
    before = shop.dump()
    words = (*RUN, "--tasks-file", str(path), "--dry-run")
    lines = shop.good(*words).lines
    assert lines == [
        "wave 1: 2 tasks",
        "  base",
        "  alone",
        "wave 2: 1 task",
        "  top  (after base)",
        "3 tasks, longest chain 2, parallel, up to 4 at once, engine fixer, gates auto",
        "nothing was written",
    ]
    assert json.loads(shop.good(*words, "--json").out) == {"waves": [["base", "alone"], ["top"]]}
    assert shop.dump() == before


def test_a_dry_run_of_what_is_there_writes_nothing(shop: Site) -> None:
    task = shop.add_task("shop", "only", ready=False)
    before = shop.dump()
    assert shop.good(*RUN, task, "--dry-run").lines[:2] == ["wave 1: 1 task", "  only"]
    assert shop.dump() == before


def test_detach_leaves_it_to_a_worker(shop: Site) -> None:
    shop.add_task("shop", "later")
    done = shop.good(*READY, "--detach")
    batch = done.out.strip().replace("-", "")
    assert shop.batch_in("PENDING") == batch
    assert shop.rows("SELECT count(*) FROM django_q_ormq") == [(1,)]
    assert "waits for a worker" in shop.good("batch", "show", batch).out


def test_detach_with_json_prints_an_object(shop: Site) -> None:
    shop.add_task("shop", "later")
    assert result_of(shop.good(*READY, "--detach", "--json"))["status"] == "PENDING"


def test_a_file_run_twice_takes_over_what_is_unfinished(shop: Site, tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    good = "- title: good\n  description: |\n    agent:\n    write good.txt {}\n"
    bad = "- title: bad\n  description: |\n    agent:\n    {}\n"
    path.write_text(good.format(1) + bad.format("exit 1"))
    words = (*RUN, "--tasks-file", str(path), "--json")
    assert shop.run(*words).code == 1
    path.write_text(good.format(2) + bad.format("write bad.txt fine-now"))
    second = shop.run(*words)
    assert second.code == 0
    assert sorted(row["title"] for row in result_of(second)["tasks"]) == ["bad", "good"]
    titles = shop.rows("SELECT title, count(*) FROM tasks_task GROUP BY title ORDER BY title")
    assert titles == [("bad", 1), ("good", 2)]


def test_a_finished_task_with_a_key_stays_done(shop: Site, tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text("- title: a\n  key: a\n  description: |\n    agent:\n    write a.txt a\n")
    words = (*RUN, "--tasks-file", str(path))
    assert shop.run(*words).code == 0
    done = shop.run(*words)
    assert (done.code, done.out) == (0, "")
    assert "no task that is not done already" in done.err
    assert shop.rows("SELECT status FROM tasks_task") == [("MERGED",)]


def test_a_killed_run_is_finished_first_with_the_same_agent(shop: Site, tmp_path: Path) -> None:
    shop.add_task(
        "shop",
        "long",
        f"count {tmp_path}/starts",
        f"wait-file {tmp_path}/go",
        "write long.txt done",
    )
    killed = shop.start(*READY)
    wait_for((tmp_path / "starts").exists, "the agent is at work")
    killed.kill()
    first = shop.batch_in("RUNNING")
    shop.add_task("shop", "next", "write next.txt done")
    running = shop.start(*READY)
    wait_for(lambda: "taken over" in running.out, "the batch is taken over")
    (tmp_path / "go").touch()
    done = running.end()
    assert (done.code, done.err) == (0, "")
    assert len((tmp_path / "starts").read_text().splitlines()) == 1
    assert done.lines[0] == f"finishing batch {first[:8]}, which an earlier process left"
    assert done.out.index("long: COMPLETED") < done.out.index("next: started")
    statuses = shop.rows("SELECT status FROM batches_batch ORDER BY created_at")
    assert statuses == [("COMPLETED",), ("COMPLETED",)]


def test_how_a_killed_run_ended_is_told_when_nothing_else_is_to_do(
    shop: Site, tmp_path: Path
) -> None:
    shop.add_task("shop", "bad", f"touch {tmp_path}/at", f"wait-file {tmp_path}/go", "exit 3")
    killed = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    killed.kill()
    (tmp_path / "go").touch()
    done = shop.run(*READY)
    assert (done.code, done.err) == (1, "")
    assert "bad: FAILED" in done.out


def test_ctrl_c_while_an_older_batch_is_finished_starts_nothing_new(
    shop: Site, tmp_path: Path
) -> None:
    shop.add_task("shop", "long", f"touch {tmp_path}/at", "sleep 300")
    killed = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the agent is at work")
    killed.kill()
    shop.add_task("shop", "next")
    running = shop.start(*READY)
    wait_for(lambda: "taken over" in running.out, "the batch is taken over")
    running.send(signal.SIGINT)
    assert running.end().code == 130
    assert shop.rows("SELECT status FROM batches_batch") == [("CANCELLED",)]


def test_a_reader_that_goes_away_does_not_end_the_batch(shop: Site, tmp_path: Path) -> None:
    """`runbatch | head -1`: the pipe breaks in mid-batch."""
    shop.add_task("shop", "slow", f"wait-file {tmp_path}/go", "write a.txt a")
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), *READY],
        env=shop.environment,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert os.read(reader, 1)
    os.close(reader)
    (tmp_path / "go").touch()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert shop.batch_in("COMPLETED")
