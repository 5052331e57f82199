"""When a run is over nothing of it runs, whatever it started and wherever that hid."""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.supervisor.client import ExitRecord, StopRequest, run_to_end, start, stop
from tests.batches.supervisor.helpers import (
    follow_on,
    is_alive,
    marked,
    python,
    run,
    sh,
    spec_of,
    stop_when,
    supervisor_of,
    wait_until,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="without /proc only the process group can be killed"
)

DAEMON = """
import os, sys, time, pathlib
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path(sys.argv[1], str(os.getpid())).touch()
        time.sleep(1000)
    os._exit(0)
os.wait()
"""
HIDING = f"""
note() {{ : > "$1/$2"; }}
setsid sh -c ': > "$0/$$"; exec sleep 1000' "$1" &
nohup sh -c ': > "$0/$$"; exec sleep 1000' "$1" >/dev/null 2>&1 &
(setsid nohup sh -c ': > "$0/$$"; exec sleep 1000' "$1" >/dev/null 2>&1 &)
env -i setsid sh -c ': > "$0/$$"; exec sleep 1000' "$1" &
sh -c 'trap "" TERM HUP INT; : > "$0/$$"; sleep 1000' "$1" &
{sys.executable} -I -S -c '{DAEMON}' "$1"
"""
HIDDEN = 6


def hiding_agent(pids: Path, end: str) -> tuple[str, ...]:
    pids.mkdir()
    return sh(HIDING + end, str(pids))


def noted(folder: Path) -> list[int]:
    """Agents note the pids of their children as names of files."""
    return [int(path.name) for path in folder.iterdir()]


def stop_it(
    run_dir: Path, argv: tuple[str, ...], condition: Callable[[], object], **fields: float
) -> ExitRecord:
    request = StopRequest("enough")
    return run_to_end(
        run_dir,
        spec_of(argv, **fields),
        stop_when(condition, request),
        poll_s=0.02,
    )


def test_a_stop_kills_children_in_every_hiding_place(tmp_path: Path) -> None:
    run_dir, pids = tmp_path / "run", tmp_path / "pids"
    argv = hiding_agent(pids, "sleep 1000")
    record = stop_it(run_dir, argv, lambda: len(noted(pids)) == HIDDEN, grace_s=0.3)
    assert record.cause == "stopped"
    assert [pid for pid in noted(pids) if is_alive(pid)] == []
    assert marked(run_dir) == []
    assert len(record.killed) >= HIDDEN - 1
    assert record.survivors == ()


def test_an_agent_that_ends_leaves_no_child_behind(tmp_path: Path) -> None:
    run_dir, pids, edited = tmp_path / "run", tmp_path / "pids", tmp_path / "edited"
    end = f'until [ $(ls "$1" | wc -l) = {HIDDEN} ]; do sleep 0.02; done; exit 0'
    late_edit = f"(sleep 3; echo late > {edited}) & "
    record, _ = run(run_dir, hiding_agent(pids, late_edit + end))
    assert (record.cause, record.code) == ("exited", 0)
    assert [pid for pid in noted(pids) if is_alive(pid)] == []
    assert marked(run_dir) == []
    assert {victim.name for victim in record.killed} >= {"sleep", "sh"}
    assert not edited.exists()


def test_a_pipe_held_open_by_a_child_does_not_hold_up_the_end(tmp_path: Path) -> None:
    record, output = run(tmp_path / "run", sh("echo said; sleep 1000 & exit 0"))
    assert record.duration_s < 10
    assert output.stdout == b"said\n"
    assert [victim.name for victim in record.killed] == ["sleep"]


def test_a_child_that_is_about_to_finish_may_say_its_last_words(tmp_path: Path) -> None:
    """It has a quarter of a second; on a busy machine not every child makes it."""
    runs = (run(tmp_path / f"{n}", sh("(sleep 0.05; echo last) & exit 0")) for n in range(10))
    assert any((output.stdout, record.killed) == (b"last\n", ()) for record, output in runs)


def test_a_polite_agent_may_clean_up_within_the_grace(tmp_path: Path) -> None:
    run_dir, up, cleaned = tmp_path / "run", tmp_path / "up", tmp_path / "cleaned"
    agent = sh(
        f"trap 'sleep 0.2; touch {cleaned}; exit 7' TERM; touch {up}; while :; do sleep 0.02; done"
    )
    record = stop_it(run_dir, agent, up.exists, grace_s=30)
    assert (record.cause, record.code) == ("stopped", 7)
    assert cleaned.exists()
    assert record.duration_s < 20


def test_the_grace_is_for_the_whole_group(tmp_path: Path) -> None:
    run_dir, up, cleaned = tmp_path / "run", tmp_path / "up", tmp_path / "cleaned"
    child = (
        f"trap 'sleep 0.3; touch {cleaned}; exit' TERM; touch {up}; while :; do sleep 0.02; done"
    )
    record = stop_it(
        run_dir, sh(f"sh -c '{child.replace(chr(39), chr(34))}'; :"), up.exists, grace_s=30
    )
    assert record.cause == "stopped"
    assert cleaned.exists()


def test_the_signal_is_the_one_the_engine_asks_for(tmp_path: Path) -> None:
    run_dir, up = tmp_path / "run", tmp_path / "up"
    agent = sh(f"trap 'exit 9' INT; trap '' TERM; touch {up}; while :; do sleep 0.02; done")
    spec = spec_of(agent, stop_signal="SIGINT", grace_s=30)
    record = run_to_end(run_dir, spec, stop_when(up.exists, StopRequest("enough")))
    assert record.code == 9


def test_an_agent_deaf_to_the_signal_is_killed_after_the_grace(tmp_path: Path) -> None:
    run_dir, up = tmp_path / "run", tmp_path / "up"
    agent = sh(f"trap '' TERM; touch {up}; while :; do sleep 0.05; done")
    began = time.monotonic()
    record = stop_it(run_dir, agent, up.exists, grace_s=0.5)
    assert record.signal == signal.SIGKILL
    assert 0.5 <= time.monotonic() - began < 20
    assert "sh" in {victim.name for victim in record.killed}


def test_a_stop_can_carry_a_grace_of_its_own(tmp_path: Path) -> None:
    run_dir, up = tmp_path / "run", tmp_path / "up"
    agent = sh(f"trap '' TERM; touch {up}; while :; do sleep 0.05; done")
    request = StopRequest("at once", grace_s=0)
    record = run_to_end(run_dir, spec_of(agent, grace_s=600), stop_when(up.exists, request))
    assert record.duration_s < 30


def test_a_stronger_stop_shortens_the_grace_of_the_first(tmp_path: Path) -> None:
    run_dir, up = tmp_path / "run", tmp_path / "up"
    agent = sh(f"trap 'echo asked' TERM; touch {up}; while :; do sleep 0.05; done")
    said = bytearray()

    def should_stop() -> StopRequest | None:
        if b"asked" in said:
            return StopRequest("now", grace_s=0.1)
        return StopRequest("please", grace_s=600) if up.exists() else None

    handle = start(run_dir, spec_of(agent))
    record = follow_on(handle, lambda chunk: said.extend(chunk.data), should_stop=should_stop)
    assert (record.cause, record.reason) == ("stopped", "please")
    assert record.duration_s < 30


def test_a_stop_reaches_a_run_that_another_follows(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh("sleep 1000")))
    wait_until(lambda: marked(run_dir), "a running agent")
    stop(run_dir, reason="from outside")
    assert follow_on(handle).reason == "from outside"


def test_processes_that_flee_by_forking_are_caught(tmp_path: Path) -> None:
    """Ten at any time, each forks into a new session and ends at once: no pid lives for long.

    They end by themselves after a minute, so that a failure does not leave them to the machine.
    """
    run_dir, up = tmp_path / "run", tmp_path / "up"
    hopper = f"""
import os
for _ in range(9):
    if os.fork() == 0:
        break
open({str(up)!r}, "w").close()
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
os._exit(0)
"""
    argv = python(f"import os, time\nif os.fork():\n    time.sleep(1000)\n{hopper}")
    record = stop_it(run_dir, argv, up.exists, grace_s=0.1)
    assert record.cause == "stopped"
    assert record.survivors == ()
    assert marked(run_dir) == []


def test_zombies_of_short_lived_orphans_do_not_pile_up(tmp_path: Path) -> None:
    run_dir, up, done = tmp_path / "run", tmp_path / "up", tmp_path / "done"
    script = f"for i in $(seq 20); do (sh -c 'exit 0' &) ; done; touch {up}\n"
    handle = start(
        run_dir, spec_of(sh(script + f"until [ -e {done} ]; do sleep 0.02; done; exit 0"))
    )
    wait_until(up.exists)
    supervisor = supervisor_of(run_dir)
    wait_until(lambda: len(_children(supervisor)) == 1, "only the agent is left")
    done.touch()
    assert follow_on(handle).code == 0


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
