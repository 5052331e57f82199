"""Stopped, killed, orphaned: what was told is exact, what was saved is whole, nothing lives on."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from batches.engines.base import EngineRequest
from batches.engines.builtin import session
from batches.engines.builtin.engine import BuiltinEngine
from batches.reasons import Reason
from batches.supervisor import client
from batches.supervisor.record import LaunchSpec
from tests.batches.conducting import wait_until
from tests.batches.engines.builtin.running import (
    Place,
    Ran,
    agent_pid,
    held_turn,
    judged,
    stop_when,
    told,
)
from tests.fakes.model_server import Call, Script, Turn, Usage, model_server, stall

WRITES = [
    Turn(
        "",
        [Call("create_file", {"path": f"{n}.txt", "content": "x"})],
        usage=Usage(input=100 * n + 7, cache_read=n, cache_write=2 * n, output=11 * n + 1),
    )
    for n in range(1, 40)
]


@contextmanager
def running(request: EngineRequest) -> Iterator[client.Handle]:
    launch = BuiltinEngine().prepare(request)
    spec = LaunchSpec(argv=launch.argv, cwd=str(request.tree), env=dict(launch.env), grace_s=5)
    handle = client.start(request.run_dir, spec)
    try:
        yield handle
    finally:
        client.follow(
            handle,
            on_output=lambda _: None,
            should_stop=lambda: client.StopRequest(reason="the test is over"),
            offsets={},
        )


def finished(request: EngineRequest, handle: client.Handle) -> Ran:
    record = client.follow(handle, on_output=lambda _: None, should_stop=lambda: None, offsets={})
    return judged(request, record)


def living(request: EngineRequest) -> int:
    pid = agent_pid(request.run_dir)
    assert pid is not None
    return pid


def test_a_stop_ends_it_within_a_second_and_the_session_is_whole(place: Place) -> None:
    turn, hold = held_turn()
    with model_server(WRITES[0], turn) as server:
        before: list[float] = []

        def asked() -> bool:
            if len(server.requests) == 2 and not before:
                before.append(time.monotonic())
            return bool(before)

        ran = place.run(server, should_stop=stop_when(asked))
        took = time.monotonic() - before[0]
        hold.set()
    assert (ran.outcome.kind, ran.last_word) == ("stopped", "stopped")
    assert took < 2  # the supervisor's own beat is in it
    assert ran.record.code == 143
    assert ran.record.killed == ()
    saved = session.resume(place.folder / "home" / "builtin", ran.evidence.session_id)
    assert len(saved.entries) == 3


def test_a_stop_ends_the_command_that_runs(place: Place) -> None:
    command = "echo $$ >pid; sleep 60 & sleep 60"
    with model_server(Turn("", [Call("run_command", {"command": command})])) as server:
        pid_file = place.tree / "pid"
        ran = place.run(server, should_stop=stop_when(lambda: pid_file.exists()))
    assert ran.outcome.kind == "stopped"
    pid = int(pid_file.read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)


def test_a_child_that_hid_in_its_own_session_ends_with_the_run(place: Place) -> None:
    command = "setsid sh -c 'echo $$ >pid; exec sleep 60' >/dev/null 2>&1 & sleep 0.5"
    with model_server(Turn("", [Call("run_command", {"command": command})]), Turn("Ok")) as server:
        ran = place.run(server)
    assert ran.outcome.kind == "completed"
    pid = int((place.tree / "pid").read_text())
    assert [victim.pid for victim in ran.record.killed] == [pid]


def test_a_session_goes_on_after_a_kill_in_the_middle_of_a_call(place: Place) -> None:
    call = Call("run_command", {"command": "touch begun; sleep 60"})
    with model_server(Turn("Now", [call]), Turn("I see.")) as server:
        request = place.request(server.url, "Do it")
        with running(request) as handle:
            wait_until((place.tree / "begun").exists, "the command runs")
            os.kill(living(request), signal.SIGKILL)
            ran = finished(request, handle)
        assert ran.outcome.reason is Reason.AGENT_KILLED
        again = place.run(server, "Go on", session_id=ran.evidence.session_id)
        assert again.outcome.kind == "completed"
        assert "interrupted" in str(server.requests[1].body["messages"])


@pytest.mark.parametrize("victim", ["agent", "supervisor"])
def test_a_kill_while_usage_streams_loses_and_doubles_nothing(place: Place, victim: str) -> None:
    """The kill comes while an answer is under way; all that was answered before is told."""
    silent = Turn("A long story that is told slowly", faults=[stall()])
    with model_server(*WRITES[:6], silent) as server:
        request = place.request(server.url, "Do it")
        with running(request) as handle:
            wait_until(lambda: len(server.requests) == 7, "the seventh request is there")
            pid = living(request)
            supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(pid if victim == "agent" else supervisor, signal.SIGKILL)
            ran = finished(request, handle)
        assert ran.tokens == told(server)
    assert ran.tokens.output == sum(11 * n + 1 for n in range(1, 7))
    assert ran.outcome.reason in (Reason.AGENT_KILLED, Reason.WORKER_LOST)


@pytest.mark.parametrize("delay", [0.05, 0.15, 0.4])
def test_a_kill_at_any_time_leaves_out_one_answer_at_most(place: Place, delay: float) -> None:
    """Between the provider's last byte and our line there is a gap that no client can close."""
    with model_server(scripts=[Script(WRITES)]) as server:
        request = place.request(server.url, "Do it")
        with running(request) as handle:
            wait_until(lambda: server.requests, "the first request is there")
            threading.Event().wait(delay)
            os.kill(living(request), signal.SIGKILL)
            ran = finished(request, handle)
        wait_until(lambda: all(request.done.is_set() for request in server.requests))
        answered = [request.usage for request in server.answered]
    outputs = [line["output"] for line in ran.of("usage") if not line["estimated"]]
    assert outputs == [usage.output for usage in answered][: len(outputs)]
    assert len(answered) - len(outputs) <= 1
    ids = [line["id"] for line in ran.of("usage")]
    assert len(ids) == len(set(ids))
