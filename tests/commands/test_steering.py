"""Batches seen and steered from a second process while runbatch runs, and after it."""

from pathlib import Path

import pytest

from tests.commands.site import Site, Started, wait_for

pytestmark = pytest.mark.acceptance
READY = ("runbatch", "-w", "shop", "--engine", "fixer", "--all-ready")


@pytest.fixture
def running(shop: Site, tmp_path: Path) -> Started:
    """One task at work until `go` exists, another that waits for it."""
    first = shop.add_task(
        "shop", "first", f"touch {tmp_path}/at", f"wait-file {tmp_path}/go", "write a.txt a"
    )
    script = b"agent:\nwrite b.txt b\n"
    words = ("task", "add", "second", "-w", "shop", "--ready", "--depends-on", first)
    shop.good(*words, "--description", "-", input=script)
    running = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the first agent is at work")
    return running


def test_what_runs_is_listed_and_shown(shop: Site, running: Started, tmp_path: Path) -> None:
    batch = shop.batch_in("RUNNING")[:8]
    heading, row = shop.good("batch", "list").lines
    assert heading.split() == ["ID", "STATUS", "DONE", "WORKSPACE", "CREATED"]
    assert row.split()[:4] == [batch, "RUNNING", "0/2", "shop"]
    assert len(shop.good("batch", "list", "--status", "failed").lines) == 1
    assert shop.good("batch", "list", "-w", "shop", "--limit", "1").lines == [heading, row]
    shown = shop.good("batch", "show", batch[:6]).lines
    assert [line.split()[:3] for line in shown[1:3]] == [
        ["◐", "first", "RUNNING"],
        ["○", "second", "QUEUED"],
    ]
    (result,) = shop.good("batch", "show", batch, "--json").objects
    assert [task["status"] for task in result["result"]["tasks"]] == ["RUNNING", "QUEUED"]
    assert shop.good("workspace", "list").lines[1].split()[:4] == [
        "shop",
        shop.rows("SELECT id FROM tasks_workspace")[0][0][:8],
        "2",
        "waived",
    ]
    (tmp_path / "go").touch()
    assert running.end().code == 0


def test_stop_finishes_what_runs_and_starts_nothing_more(
    shop: Site, running: Started, tmp_path: Path
) -> None:
    batch = shop.batch_in("RUNNING")
    out = shop.good("batch", "stop", batch, "--reason", "lunch").out
    assert out == f"batch {batch[:8]} is CANCELLING: what runs is finished, no more starts\n"
    (tmp_path / "go").touch()
    assert running.end().code == 4
    runs = shop.rows("SELECT title, status FROM batches_run ORDER BY title")
    assert runs == [("first", "COMPLETED"), ("second", "CANCELLED")]


def test_stop_and_cancel_of_what_has_ended_are_refused(
    shop: Site, running: Started, tmp_path: Path
) -> None:
    (tmp_path / "go").touch()
    assert running.end().code == 0
    batch = shop.batch_in("COMPLETED")
    for verb in ("stop", "cancel", "resume"):
        done = shop.quickly("batch", verb, batch)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"Error: batch {batch[:8]} is COMPLETED")
    done = shop.quickly("batch", "retry", batch, "ffffffff")
    assert (done.code, done.err) == (2, "Error: no task has an id that begins with ffffffff\n")


def test_cancel_answers_in_json_when_asked(shop: Site, running: Started) -> None:
    (told,) = shop.good("batch", "cancel", shop.batch_in("RUNNING"), "--json").objects
    assert told["result"]["status"] == "CANCELLING"
    assert running.end().code == 4


def test_resume_goes_on_with_what_did_not_complete(
    shop: Site, running: Started, tmp_path: Path
) -> None:
    batch = shop.batch_in("RUNNING")
    shop.good("batch", "cancel", batch)
    assert running.end().code == 4
    (tmp_path / "go").touch()
    done = shop.run("batch", "resume", batch)
    assert (done.code, done.err) == (0, "")
    assert "resumed, 2 tasks to run" in done.out
    assert "second: COMPLETED" in done.out
    assert f"batch {batch[:8]}: COMPLETED" in done.out


def test_resume_while_another_batch_runs_is_3(shop: Site, running: Started, tmp_path: Path) -> None:
    old = shop.batch_in("RUNNING")
    shop.good("batch", "cancel", old)
    assert running.end().code == 4
    (tmp_path / "at").unlink()
    again = shop.start(*READY)
    wait_for((tmp_path / "at").exists, "the next batch is at work")
    done = shop.quickly("batch", "resume", old)
    assert (done.code, done.out) == (3, "")
    assert shop.batch_in("RUNNING")[:8] in done.err
    (tmp_path / "go").touch()
    assert again.end().code == 0


def test_retry_runs_the_named_task_again(shop: Site, tmp_path: Path) -> None:
    bad = shop.add_task("shop", "bad", f"sh test -e {tmp_path}/go", "write bad.txt b")
    shop.add_task("shop", "worse", "exit 1")
    assert shop.run(*READY).code == 1
    (tmp_path / "go").touch()
    batch = shop.batch_in("FAILED")
    done = shop.run("batch", "retry", batch, bad, "--json")
    assert (done.code, done.err) == (1, "")
    statuses = {row["title"]: row["status"] for row in done.objects[-1]["result"]["tasks"]}
    assert statuses == {"bad": "COMPLETED", "worse": "FAILED"}
    assert done.objects[0]["type"] == "BATCH_RESUMED"


def test_resume_with_detach_leaves_it_to_a_worker(shop: Site) -> None:
    shop.add_task("shop", "bad", "exit 1")
    assert shop.run(*READY).code == 1
    batch = shop.batch_in("FAILED")
    assert shop.good("batch", "resume", batch, "--detach").out.replace("-", "").strip() == batch
    assert shop.batch_in("PENDING") == batch
    (told,) = shop.good("batch", "cancel", batch, "--json").objects
    assert told["result"]["status"] == "CANCELLED"


def test_follow_shows_all_of_it_and_ends_with_it(
    shop: Site, running: Started, tmp_path: Path
) -> None:
    following = shop.start("batch", "follow", shop.batch_in("RUNNING"), "--json")
    wait_for(lambda: "RUN_STARTED" in following.out, "follow shows the first run")
    (tmp_path / "go").touch()
    done = following.end()
    assert (done.code, done.err) == (0, "")
    numbers = [event["seq"] for event in done.objects[:-1]]
    assert numbers == [
        row[0]
        for row in shop.rows("SELECT seq FROM tasks_event WHERE batch_id NOT NULL ORDER BY seq")
    ]
    assert done.objects[-1]["result"]["status"] == "COMPLETED"
    assert running.end().code == 0


def test_follow_of_what_was_resumed_shows_every_round(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "bad", f"sh test -e {tmp_path}/go", "write bad.txt b")
    assert shop.run(*READY).code == 1
    (tmp_path / "go").touch()
    batch = shop.batch_in("FAILED")
    assert shop.run("batch", "resume", batch).code == 0
    done = shop.quickly("batch", "follow", batch, "--json")
    assert done.code == 0
    types = [event["type"] for event in done.objects[:-1]]
    assert types.index("BATCH_FAILED") < types.index("BATCH_RESUMED")
    assert types[-1] == "BATCH_COMPLETED"


@pytest.mark.parametrize(("directive", "code"), [("exit 1", 1), ("write a.txt a", 0)])
def test_follow_leaves_with_the_exit_code_of_the_batch(
    directive: str, code: int, shop: Site
) -> None:
    shop.add_task("shop", "task", directive)
    assert shop.run(*READY).code == code
    batch = shop.batch_in("FAILED", "COMPLETED")
    assert shop.quickly("batch", "follow", batch).code == code


def test_a_worker_runs_what_was_detached_and_drain_ends_it(shop: Site) -> None:
    shop.add_task("shop", "one")
    shop.good(*READY, "--detach")
    worker = shop.start("worker")
    wait_for(lambda: shop.batch_in("COMPLETED"), "the worker has run the batch")
    done = shop.run("drain")
    assert (done.code, done.err) == (0, "")
    assert done.lines == ["1 worker told to finish; waiting", "drained"]
    assert worker.end().code == 0


def test_drain_gives_up_after_its_time(shop: Site, tmp_path: Path) -> None:
    shop.add_task("shop", "one", f"touch {tmp_path}/at", f"wait-file {tmp_path}/go", "write a a")
    shop.good(*READY, "--detach")
    worker = shop.start("worker")
    wait_for((tmp_path / "at").exists, "the agent is at work")
    done = shop.run("drain", "--timeout", "0.5")
    assert (done.code, done.err) == (1, "")
    assert done.lines[-1] == "batches still run; the workers end when these do"
    (tmp_path / "go").touch()
    assert worker.end().code == 0
    assert shop.batch_in("COMPLETED")


def test_follow_shows_what_is_still_to_come_from_a_cursor(
    shop: Site, running: Started, tmp_path: Path
) -> None:
    batch = shop.batch_in("RUNNING")
    (seen,) = shop.rows("SELECT max(seq) FROM tasks_event")
    following = shop.start("batch", "follow", batch, "--json", "--after", str(seen[0]))
    (tmp_path / "go").touch()
    assert running.end().code == 0
    done = following.end()
    assert done.code == 0
    *events, result = done.objects
    stored = shop.rows(
        "SELECT seq FROM tasks_event WHERE batch_id IS NOT NULL AND seq > ? ORDER BY seq", *seen
    )
    assert [event["seq"] for event in events] == [seq for (seq,) in stored]
    assert (events[-1]["type"], events[-1]["v"]) == ("BATCH_COMPLETED", 1)
    assert result["result"]["status"] == "COMPLETED"


def test_follow_of_a_batch_that_is_over_ends_wherever_it_begins(
    shop: Site, running: Started, tmp_path: Path
) -> None:
    batch = shop.batch_in("RUNNING")
    (tmp_path / "go").touch()
    assert running.end().code == 0
    for after in ("0", "1000000"):
        assert shop.good("batch", "follow", batch, "--after", after).code == 0
