"""A worker can die and its agents go on; the next one finds them and finishes the run."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batches.supervisor import client
from batches.supervisor.client import adopt, let_go, read_exit, start, stop
from tests.batches.supervisor import follower
from tests.batches.supervisor.helpers import (
    Output,
    follow_on,
    is_alive,
    marked,
    parent_of,
    run,
    sh,
    spec_of,
    start_and_find,
    supervisor_of,
    wait_until,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these look into /proc")


def test_a_killed_worker_loses_no_byte_of_its_agent(tmp_path: Path) -> None:
    run_dir, seen, go_on = tmp_path / "run", tmp_path / "seen", tmp_path / "go-on"
    script = (
        "import os, time\n"
        "for i in range(3000):\n"
        "    print(i)\n"
        f"    while i == 1500 and not os.path.exists({str(go_on)!r}): time.sleep(0.01)\n"
    )
    worker = subprocess.Popen([sys.executable, "-m", follower.__name__, run_dir, seen, script])
    wait_until(lambda: seen.exists() and b"1000\n" in seen.read_bytes(), "output in the worker")
    worker.kill()
    worker.wait()
    first = seen.read_bytes()
    handle = adopt(run_dir)
    assert handle is not None
    go_on.touch()
    rest = bytearray()
    record = follow_on(handle, lambda c: rest.extend(c.data), offsets={"stdout": len(first)})
    assert (record.cause, record.code) == ("exited", 0)
    assert (first + rest).decode().split() == [str(i) for i in range(3000)]
    assert rest


def test_a_run_that_ended_unseen_is_finished_from_its_record(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh("echo done; exit 3")))
    let_go(handle)
    wait_until(lambda: read_exit(run_dir), "an exit record")
    adopted = adopt(run_dir)
    assert adopted is not None
    output = Output()
    assert follow_on(adopted, output) == read_exit(run_dir)
    assert output.stdout == b"done\n"


def test_where_nothing_was_started_there_is_nothing_to_adopt(tmp_path: Path) -> None:
    assert adopt(tmp_path / "nowhere") is None
    stop(tmp_path / "asked", reason="before any start")
    assert adopt(tmp_path / "asked") is None


def test_an_adopted_run_can_be_stopped(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle, _ = start_and_find(run_dir, sh("sleep 1000"))
    let_go(handle)
    adopted = adopt(run_dir)
    assert adopted is not None
    record = follow_on(adopted, should_stop=lambda: client.StopRequest("enough"))
    assert (record.cause, record.reason) == ("stopped", "enough")


def test_a_run_that_is_adopted_is_no_orphan_even_before_it_is_followed(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle, _ = start_and_find(run_dir, sh("sleep 4.5; exit 6"), orphan_s=2.0)
    let_go(handle)
    adopted = adopt(run_dir)
    assert adopted is not None
    wait_until((run_dir / "exit.json").exists, "the end of the run")
    assert follow_on(adopted).code == 6


def test_a_paused_worker_still_counts_as_a_follower(tmp_path: Path) -> None:
    run_dir, seen = tmp_path / "run", tmp_path / "seen"
    script = "import time\nprint('up')\ntime.sleep(1000)"
    worker = subprocess.Popen([sys.executable, "-m", follower.__name__, run_dir, seen, script])
    wait_until(lambda: seen.exists() and seen.read_bytes(), "output in the worker")
    worker.send_signal(signal.SIGSTOP)
    with open(run_dir / "follow.lock") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    worker.kill()
    worker.wait()
    adopted = adopt(run_dir)
    assert adopted is not None
    assert follow_on(adopted, should_stop=lambda: client.StopRequest("done")).cause == "stopped"


def test_a_record_with_fields_of_a_later_version_is_read(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    record, _ = run(run_dir, sh("exit 0"))
    note = json.loads((run_dir / "exit.json").read_text())
    (run_dir / "exit.json").write_text(json.dumps(note | {"gpu_s": 1}))
    assert read_exit(run_dir) == record


def test_the_end_is_noticed_at_once(tmp_path: Path) -> None:
    """Whatever the poll interval is: by a pidfd, of a child or of an adopted supervisor."""
    run_dir = tmp_path / "run"
    began = time.monotonic()
    let_go(start(run_dir, spec_of(sh("sleep 0.3"))))
    adopted = adopt(run_dir)
    assert adopted is not None
    follow_on(adopted, poll_s=30.0)
    follow_on(start(tmp_path / "other", spec_of(sh("sleep 0.3"))), poll_s=30.0)
    assert time.monotonic() - began < 25


def test_a_lock_handed_over_is_held_until_the_run_has_ended(tmp_path: Path) -> None:
    run_dir, path = tmp_path / "run", tmp_path / "slot"
    with path.open("w") as slot:
        fcntl.flock(slot, fcntl.LOCK_EX)
        script = "readlink /proc/self/fd/0; sleep 1000"
        handle = start(run_dir, spec_of(sh(script)), hold_fd=slot.fileno())
    supervisor_of(run_dir)
    with path.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    output = Output()
    stop(run_dir, reason="done")
    assert follow_on(handle, output).cause == "stopped"
    assert output.stdout == b"/dev/null\n"
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_ended_supervisor_leaves_no_zombie(tmp_path: Path) -> None:
    run_dir, go_on = tmp_path / "run", tmp_path / "go-on"
    agent = sh(f"until [ -e {go_on} ]; do sleep 0.02; done")
    handle, supervisor = start_and_find(run_dir, agent)
    let_go(handle)
    go_on.touch()
    wait_until(lambda: read_exit(run_dir) and not is_alive(supervisor))
    run(tmp_path / "next", sh("exit 0"))
    assert not Path(f"/proc/{supervisor}").exists()


def test_an_agent_outlives_the_session_of_its_worker(tmp_path: Path) -> None:
    run_dir, seen = tmp_path / "run", tmp_path / "seen"
    script = "import time\nprint('up')\ntime.sleep(1000)"
    worker = subprocess.Popen(
        [sys.executable, "-m", follower.__name__, run_dir, seen, script], start_new_session=True
    )
    wait_until(lambda: seen.exists() and seen.read_bytes(), "output in the worker")
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    assert [pid for pid in marked(run_dir) if parent_of(pid) != 1]
    adopted = adopt(run_dir)
    assert adopted is not None
    assert follow_on(adopted, should_stop=lambda: client.StopRequest("done")).cause == "stopped"
