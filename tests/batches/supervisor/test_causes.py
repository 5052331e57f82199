"""Each way a run can end is told by its own cause, and the first one stands."""

import os
import signal
import time
from pathlib import Path

import pytest

from batches.supervisor.client import (
    StopRequest,
    SupervisorStartError,
    let_go,
    run_to_end,
    start,
    stop,
)
from tests.batches.supervisor.helpers import (
    follow_on,
    marked,
    never,
    python,
    run,
    sh,
    spec_of,
    stop_when,
    supervisor_of,
    wait_until,
)

EVERY_TENTH = "while :; do echo line; sleep 0.1; done"


@pytest.mark.parametrize("code", [0, 1, 77])
def test_an_agent_that_ends_by_itself_has_exited_with_its_code(tmp_path: Path, code: int) -> None:
    record, _ = run(tmp_path / "run", sh(f"exit {code}"))
    assert (record.cause, record.code, record.signal) == ("exited", code, None)
    assert record.succeeded is (code == 0)


def test_an_agent_that_dies_of_a_signal_tells_which(tmp_path: Path) -> None:
    record, _ = run(tmp_path / "run", sh("kill -SEGV $$"))
    assert (record.cause, record.code, record.signal) == ("exited", None, signal.SIGSEGV)
    assert not record.succeeded


def test_the_deadline_holds_while_output_flows(tmp_path: Path) -> None:
    record, output = run(tmp_path / "run", sh(EVERY_TENTH), deadline_s=1.0, silence_s=30)
    assert record.cause == "timeout"
    assert 1.0 <= record.duration_s < 30
    assert output.stdout.count(b"line\n") >= 3
    assert "1 s" in record.reason


def test_the_deadline_holds_when_nobody_follows(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh(EVERY_TENTH), deadline_s=0.5))
    let_go(handle)
    wait_until((run_dir / "exit.json").exists, "an exit record without a follower")
    assert follow_on(handle).cause == "timeout"


def test_an_agent_without_output_is_stalled(tmp_path: Path) -> None:
    record, _ = run(tmp_path / "run", sh("echo once; sleep 100"), silence_s=0.5)
    assert record.cause == "stalled"
    assert 0.5 <= record.duration_s < 30


def test_a_paused_agent_is_stalled_and_killed(tmp_path: Path) -> None:
    record, _ = run(tmp_path / "run", sh("kill -STOP $$"), silence_s=0.3, grace_s=0.2)
    assert record.cause == "stalled"
    assert record.signal == signal.SIGKILL


def test_output_on_either_stream_is_a_sign_of_life(tmp_path: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do echo x >&2; sleep 0.5; done"
    record, _ = run(tmp_path / "run", sh(script), silence_s=3)
    assert record.cause == "exited"


@pytest.mark.parametrize("off", [0, None])
def test_deadlines_can_be_off(tmp_path: Path, off: float | None) -> None:
    limits = {"deadline_s": off, "silence_s": off, "orphan_s": off}
    record, _ = run(tmp_path / "run", sh("sleep 0.3"), **limits)
    assert record.cause == "exited"


def test_a_stop_names_its_reason(tmp_path: Path) -> None:
    request = StopRequest("the budget is spent")
    record = run_to_end(tmp_path / "run", spec_of(sh("sleep 100")), lambda: request)
    assert (record.cause, record.reason) == ("stopped", "the budget is spent")
    assert record.duration_s < 30


def test_a_bare_sigterm_to_the_supervisor_is_a_stop(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh("sleep 100")))
    supervisor = supervisor_of(run_dir)
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(supervisor, number)
    os.kill(supervisor, signal.SIGTERM)
    assert follow_on(handle).cause == "stopped"


def test_hangup_and_interrupt_leave_the_run_alone(tmp_path: Path) -> None:
    run_dir, go_on = tmp_path / "run", tmp_path / "go-on"
    handle = start(run_dir, spec_of(sh(f"until [ -e {go_on} ]; do sleep 0.05; done; exit 4")))
    supervisor = supervisor_of(run_dir)
    os.kill(supervisor, signal.SIGHUP)
    os.kill(supervisor, signal.SIGINT)
    go_on.touch()
    assert follow_on(handle).code == 4


def test_a_stop_note_without_a_nudge_is_found_within_seconds(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh("sleep 100")))
    wait_until(lambda: marked(run_dir), "a running agent")
    (run_dir / "stop.json").write_text('{"reason": "by hand", "grace_s": null}')
    record = follow_on(handle)
    assert (record.cause, record.reason) == ("stopped", "by hand")


def test_a_stop_note_that_makes_no_sense_still_stops(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh("sleep 100")))
    wait_until(lambda: marked(run_dir), "a running agent")
    (run_dir / "stop.json").write_text("[1, ")
    assert follow_on(handle).cause == "stopped"


def test_a_stop_before_the_start_keeps_the_agent_from_running(tmp_path: Path) -> None:
    run_dir, ran = tmp_path / "run", tmp_path / "ran"
    stop(run_dir, reason="changed my mind")
    record, _ = run(run_dir, sh(f"touch {ran}"))
    assert (record.cause, record.reason, record.code) == ("stopped", "changed my mind", None)
    assert not ran.exists()


def test_the_first_cause_stands(tmp_path: Path) -> None:
    run_dir, trapped = tmp_path / "run", tmp_path / "trapped"
    script = f"trap 'touch {trapped}; sleep 100 & wait' TERM; echo up; sleep 100 & wait; sleep 100"
    spec = spec_of(sh(script), deadline_s=0.5, grace_s=60)
    later = stop_when(trapped.exists, StopRequest("too late to matter", grace_s=0.1))
    record = run_to_end(run_dir, spec, later, poll_s=0.02)
    assert record.cause == "timeout"
    assert record.duration_s < 30, "the later stop still shortens the grace"


def test_an_orphan_is_stopped(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    handle = start(run_dir, spec_of(sh("sleep 100"), orphan_s=1.0))
    let_go(handle)
    wait_until((run_dir / "exit.json").exists, "the orphan's end")
    assert follow_on(handle).cause == "orphaned"
    assert not marked(run_dir)


def test_a_follower_keeps_a_run_from_being_an_orphan(tmp_path: Path) -> None:
    record, _ = run(tmp_path / "run", sh("sleep 3.5"), orphan_s=1.0)
    assert record.cause == "exited"


def test_what_an_agent_used_is_told(tmp_path: Path) -> None:
    script = "b = bytearray(64 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\nsum(range(10**6))"
    before = time.time()
    record, _ = run(tmp_path / "run", python(script))
    assert record.max_rss_kb > 64 * 1024
    assert 0 < record.cpu_s < 60
    assert before - 1 <= record.started_at <= record.ended_at <= time.time() + 1
    assert record.killed == ()


def test_a_second_start_in_the_same_place_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "run", sh("exit 0"))
    with pytest.raises(SupervisorStartError, match="already holds a run"):
        run_to_end(tmp_path / "run", spec_of(sh("exit 0")), never)
