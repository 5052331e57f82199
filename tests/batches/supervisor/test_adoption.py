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

from batches.supervisor import agent_supervisor, client
from batches.supervisor.client import adopt, kill_leftovers, let_go, read_exit, start, stop
from batches.supervisor.processes import host_id
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
    supervisor_of,
    wait_until,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these look into /proc")


def start_and_find(
    run_dir: Path, argv: tuple[str, ...], **fields: object
) -> tuple[client.Handle, int]:
    """The handle of a run whose agent is up, and the pid of its supervisor."""
    handle = start(run_dir, spec_of(argv, **fields))
    return handle, supervisor_of(run_dir)


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


def test_a_start_that_never_came_is_shut_out_and_lost(tmp_path: Path) -> None:
    run_dir, ran = tmp_path / "run", tmp_path / "ran"
    run_dir.mkdir()
    (run_dir / "spec.json").write_text(json.dumps(spec_of(sh(f"touch {ran}")).as_json()))
    handle = adopt(run_dir)
    assert handle is not None
    assert follow_on(handle).cause == "lost"
    subprocess.run([sys.executable, "-I", "-S", agent_supervisor.__file__, run_dir], check=True)
    assert not ran.exists(), "a supervisor that comes late must leave"
    assert read_exit(run_dir) is None


def test_a_killed_supervisor_leaves_a_lost_run_and_no_process(tmp_path: Path) -> None:
    run_dir, up = tmp_path / "run", tmp_path / "up"
    script = f"""
setsid sleep 1000 &
(setsid nohup sleep 1000 >/dev/null 2>&1 &)
env -i setsid sleep 1000 &
env -i sh -c 'sleep 1000 & sleep 1000' &
echo before; touch {up}; sleep 1000
"""
    handle, supervisor = start_and_find(run_dir, sh(script))
    wait_until(up.exists)
    tree = tree_of(supervisor)
    os.kill(supervisor, signal.SIGKILL)
    output = Output()
    record = follow_on(handle, output)
    assert record.cause == "lost"
    assert record.survivors == ()
    assert output.stdout == b"before\n"
    assert record.stdout_bytes == len(b"before\n")
    assert len(record.killed) == len(tree) >= 7
    assert [pid for pid in tree if is_alive(pid)] == []
    assert marked(run_dir) == []


def tree_of(ancestor: int) -> list[int]:
    found = [ancestor]
    for pid in found:
        found += [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found[1:]


def test_what_forks_while_it_is_killed_does_not_get_away(tmp_path: Path) -> None:
    """It has wiped its environment, so an orphan born unseen could never be told as ours."""
    run_dir, token = tmp_path / "run", f"token-{tmp_path}"
    forker = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "while True:\n"
        "    if os.fork() == 0: time.sleep(0.3); os._exit(0)\n"
        "    time.sleep(0.002)\n"
    )
    script = f"env -i {sys.executable} -S -c '{forker}' '{token}' & sleep 1000"
    handle, supervisor = start_and_find(run_dir, sh(script))
    wait_until(lambda: len(named(token)) > 10, "a crowd of forks")
    os.kill(supervisor, signal.SIGKILL)
    assert follow_on(handle).survivors == ()
    assert [pid for pid in named(token) if is_alive(pid)] == []


def named(token: str) -> list[int]:
    """Processes with this argument; a fork keeps its parent's."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if token.encode() in arguments:
                found.append(int(entry.name))
    return found


def test_a_killed_supervisor_is_found_dead_by_an_adopter(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle, supervisor = start_and_find(run_dir, sh("sleep 1000"))
    let_go(handle)
    os.kill(supervisor, signal.SIGKILL)
    adopted = adopt(run_dir)
    assert adopted is not None
    assert follow_on(adopted).cause == "lost"
    assert marked(run_dir) == []


def test_the_last_words_of_a_failed_supervisor_are_told(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle, supervisor = start_and_find(run_dir, sh("sleep 1000"))
    with open(run_dir / "supervisor.log", "a") as log:
        log.write("Traceback\nMemoryError: no room\n")
    os.kill(supervisor, signal.SIGKILL)
    assert follow_on(handle).reason.endswith("MemoryError: no room")


def test_what_a_living_supervisor_runs_is_not_left_over(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle, _ = start_and_find(run_dir, sh("sleep 1000"))
    with pytest.raises(client.SupervisorAliveError):
        kill_leftovers(run_dir)
    assert marked(run_dir)
    stop(run_dir, reason="done")
    assert follow_on(handle).cause == "stopped"


def recorded(pid: int, start: int, host: str | None = None) -> dict[str, object]:
    process = {"pid": pid, "start": start}
    return {"host": host or host_id(), "supervisor": process, "agent": process}


@pytest.mark.parametrize("host", [None, "another-boot/pid:[1]"])
def test_a_recycled_pid_is_never_signalled(tmp_path: Path, host: str | None) -> None:
    """The recorded pid lives, leads its session, and has a child; but it is somebody else's."""
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    stranger = subprocess.Popen(sh("sleep 1000 & wait"), start_new_session=True)
    wait_until(lambda: len(tree_of(stranger.pid)) == 1)
    start_ticks = int(Path(f"/proc/{stranger.pid}/stat").read_text().rpartition(")")[2].split()[19])
    old = start_ticks if host else start_ticks - 500
    (run_dir / "spec.json").write_text(json.dumps(spec_of(("true",)).as_json()))
    (run_dir / "process.json").write_text(json.dumps(recorded(stranger.pid, old, host)))
    try:
        stop(run_dir, reason="must not reach it")
        handle = adopt(run_dir)
        assert handle is not None
        record = follow_on(handle)
        assert (record.cause, record.killed) == ("lost", ())
        assert kill_leftovers(run_dir).killed == ()
        assert len(tree_of(stranger.pid)) == 1
        assert not set("TtZ") & set(Path(f"/proc/{stranger.pid}/stat").read_text().split()[2])
        assert stranger.poll() is None
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.wait()


def test_a_supervisor_known_dead_is_dead_though_its_fork_holds_its_lock(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle, supervisor = start_and_find(run_dir, ("sleep", "1000"))
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not is_alive(supervisor))
    with open(run_dir / "process.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert follow_on(handle).cause == "lost"
    assert marked(run_dir) == []


def test_leftovers_of_one_run_are_not_those_of_its_namesakes(tmp_path: Path) -> None:
    one, ten = tmp_path / "1", tmp_path / "10"
    handle_one, supervisor = start_and_find(one, ("sleep", "1000"))
    handle_ten, _ = start_and_find(ten, sh("sleep 1000"))
    os.kill(supervisor, signal.SIGKILL)
    assert len(follow_on(handle_one).killed) == 1
    assert marked(ten)
    stop(ten, reason="done")
    assert follow_on(handle_ten).cause == "stopped"


def test_a_torn_process_note_names_nobody(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    (run_dir / "spec.json").write_text(json.dumps(spec_of(("true",)).as_json()))
    (run_dir / "process.json").write_text('{"host": "x", "superv')
    handle = adopt(run_dir)
    assert handle is not None
    assert follow_on(handle).cause == "lost"


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
