"""A supervisor that dies without a word leaves a lost run, and no process of it, and no victim."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batches.supervisor import agent_supervisor, client
from batches.supervisor.client import adopt, kill_leftovers, let_go, read_exit, stop
from batches.supervisor.processes import host_id
from tests.batches.supervisor.helpers import (
    Output,
    follow_on,
    is_alive,
    marked,
    sh,
    spec_of,
    start_and_find,
    wait_until,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these look into /proc")


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
    wait_until(lambda: names_of(tree_of(supervisor)) == ["sh"] * 2 + ["sleep"] * 6)
    tree = tree_of(supervisor)
    os.kill(supervisor, signal.SIGKILL)
    output = Output()
    record = follow_on(handle, output)
    assert record.cause == "lost"
    assert record.survivors == ()
    assert output.stdout == b"before\n"
    assert record.stdout_bytes == len(b"before\n")
    assert sorted(victim.pid for victim in record.killed) == sorted(tree)
    assert [pid for pid in tree if is_alive(pid)] == []
    assert marked(run_dir) == []


def tree_of(ancestor: int) -> list[int]:
    found = [ancestor]
    for pid in found:
        found += [int(p) for p in read(f"/proc/{pid}/task/{pid}/children").split()]
    return found[1:]


def names_of(pids: list[int]) -> list[str]:
    return sorted(read(f"/proc/{pid}/comm").strip() for pid in pids)


def read(path: str) -> str:
    """Empty for a process that has gone meanwhile."""
    try:
        return Path(path).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


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
