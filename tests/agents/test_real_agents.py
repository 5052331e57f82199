"""Each real agent does a task through a batch; what the provider was asked is what is charged."""

import os
import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from batches.answering import send_on
from batches.models import Batch, Run
from costs.models import Usage
from tasks.blockers import answer_blocker
from tasks.models import Blocker, Event, Workspace
from tests.agents.conftest import scripted
from tests.batches.conducting import (
    conducting,
    last_run,
    marked_processes,
    on_branch,
    run_batch,
    wait_until,
)
from tests.fakes.models import Fault, ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.agents, pytest.mark.timeout(90)]
Start = Callable[..., Batch]
ALL = ["claude", "codex", "opencode", "gemini"]
FAST = ["claude", "codex"]
DOLLARS = {  # a million of fresh input, cached input and output
    "claude": ("3", "0.3", "15"),
    "codex": ("1.25", "0.125", "10"),
    "opencode": ("1.25", "0.125", "10"),
    "gemini": ("1.25", "0.125", "10"),
}


def answered(server: ModelServer) -> tuple[int, int, int]:
    spent = [call.spent for call in server.answered]
    return sum(s.fresh for s in spent), sum(s.read for s in spent), sum(s.output for s in spent)


def charged(*, exact: bool = True) -> tuple[int, int, int]:
    rows = Usage.objects.filter(estimated=False) if exact else Usage.objects.all()
    return (
        sum(row.input_tokens for row in rows),
        sum(row.cache_read_tokens for row in rows),
        sum(row.output_tokens for row in rows),
    )


def dollars(kind: str, tokens: tuple[int, int, int]) -> Decimal:
    prices = zip(tokens, map(Decimal, DOLLARS[kind]), strict=True)
    return sum((count * price for count, price in prices), Decimal(0)) / 10**6


def cost() -> Decimal:
    return sum((row.cost_usd or Decimal(0) for row in Usage.objects.all()), Decimal(0))


@pytest.mark.parametrize("kind", ALL)
def test_a_real_agent_makes_a_file_and_is_charged_to_the_cent(
    kind: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    task = scripted(workspace, "Brew", "write tea.txt green", "write two.txt second")
    batch = start(kind, workspace)
    run_batch(batch)
    assert (batch.status, last_run(task).message) == ("COMPLETED", "")
    assert (on_branch(batch, "tea.txt"), on_branch(batch, "two.txt")) == ("green", "second")
    assert len(server.answered) == len(server.requests) == 3
    assert charged() == answered(server)
    assert cost() == dollars(kind, answered(server))
    assert not Usage.objects.filter(estimated=True).exists()
    assert last_run(task).session_id
    assert not marked_processes()


@pytest.mark.parametrize("kind", FAST)
def test_an_answered_question_goes_on_in_the_same_session(
    kind: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    ask = "run printf 'Green or black?' > $CODEFRAME_QUESTION_FILE"
    task = scripted(workspace, "Brew", "write begun.txt half", ask)
    batch = start(kind, workspace)
    run_batch(batch)
    assert last_run(task).reason == "question"
    first = charged()
    assert first == answered(server)
    answer = "Green.\nmodel: write tea.txt green"
    blocker = answer_blocker(blocker=Blocker.objects.get(), answer=answer, by="ann")
    send_on(blocker=blocker, by="ann")
    run_batch(batch)
    assert (batch.status, last_run(task).message) == ("COMPLETED", "")
    assert last_run(task).session_id == Run.objects.get(task=task, attempt=1).session_id
    assert (on_branch(batch, "tea.txt"), on_branch(batch, "begun.txt")) == ("green", "half")
    assert charged() == answered(server)
    assert len(server.answered) == 5  # three, and two that knew of the three before


@pytest.mark.parametrize("kind", FAST)
def test_wrong_credentials_end_the_run_and_are_shown_nowhere(
    kind: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    server.fail(Fault(401, times=50))
    task = scripted(workspace, "Brew", "write tea.txt green")
    run_batch(start(kind, workspace, max_retries=3))
    run = last_run(task)
    assert (run.attempt, run.status, run.reason) == (1, "FAILED", "auth")
    assert cost() == 0
    told = [str(payload) for payload in Event.objects.values_list("payload", flat=True)]
    assert not any("sk-" in text for text in (run.message, *told))


@pytest.mark.parametrize(("fault", "reason"), [(429, "rate_limited"), (500, "server_error")])
@pytest.mark.parametrize("kind", FAST)
def test_what_a_provider_mends_costs_no_attempt(
    kind: str, fault: int, reason: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    server.fail(Fault(fault, times=50, retry_after_s=1))
    task = scripted(workspace, "Brew", "write tea.txt green")
    batch = start(kind, workspace, max_retries=0)
    with conducting(batch):
        wait_until(lambda: Run.objects.filter(task=task, reason=reason).exists(), reason)
        server.heal()
    assert batch.status == "COMPLETED"
    assert charged() == answered(server)
    assert cost() == dollars(kind, answered(server))


@pytest.mark.parametrize("fault", ["cut", "malformed", "slow"])
@pytest.mark.parametrize("kind", FAST)
def test_a_broken_stream_loses_no_work_and_no_cent(
    kind: str, fault: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    server.fail(Fault(fault))
    task = scripted(workspace, "Brew", "write tea.txt green")
    batch = start(kind, workspace)
    run_batch(batch)
    assert (batch.status, last_run(task).message) == ("COMPLETED", "")
    assert on_branch(batch, "tea.txt") == "green"
    told = charged()
    for ours, theirs in zip(told, answered(server), strict=True):
        assert ours >= theirs
    if kind == "codex" or fault == "slow":
        assert told == answered(server)
    else:  # it may count the call that was cut, and then so do we
        assert cost() == sum(row.reported_usd or 0 for row in Usage.objects.all())


@pytest.mark.parametrize("kind", FAST)
def test_a_stalled_stream_ends_the_run_and_every_process(
    kind: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    server.fail(Fault("stall", times=5))
    task = scripted(workspace, "Brew", "write tea.txt green")
    run_batch(start(kind, workspace, stall_timeout_s=4))
    assert (last_run(task).status, last_run(task).reason) == ("FAILED", "stalled")
    assert not marked_processes()


@pytest.mark.parametrize("kind", FAST)
def test_another_worker_goes_on_with_a_real_agent_and_counts_once(
    kind: str, workspace: Workspace, server: ModelServer, start: Start
) -> None:
    task = scripted(workspace, "Brew", "run sleep 1", "run sleep 1", "write tea.txt green")
    batch = start(kind, workspace)
    leave = threading.Event()
    with conducting(batch, leave=leave):
        wait_until(lambda: len(server.answered) >= 2, "two answered calls")
        leave.set()
    assert not last_run(task).finished_at
    run_batch(batch)
    assert batch.status == "COMPLETED"
    assert len(server.answered) == 4
    assert charged() == answered(server)
    assert cost() == dollars(kind, answered(server))


def test_a_killed_agent_is_charged_for_every_answered_call(
    workspace: Workspace, server: ModelServer, start: Start
) -> None:
    server.fail(Fault("ok"))
    server.fail(Fault("stall"))
    task = scripted(workspace, "Brew", "write tea.txt green", "write two.txt second")
    batch = start("claude", workspace)
    with conducting(batch):
        wait_until(lambda: Usage.objects.exists(), "the first call is charged")
        for pid in marked_processes():
            if b"claude" in (_command(pid)):
                os.kill(pid, signal.SIGKILL)
        server.heal()
    first = Run.objects.get(task=task, attempt=1)
    exact = Usage.objects.filter(run_id=first.id, estimated=False)
    assert sum(row.input_tokens for row in exact) == server.answered[0].spent.fresh
    assert first.reason == "agent_killed"


def _command(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().partition(b"\0")[0]
    except OSError:
        return b""


def test_prices_of_these_tests_are_those_of_the_list() -> None:
    from costs.pricing import price
    from costs.tokens import Tokens

    million = Tokens(input=100_000, output=100_000)
    for provider, model, kind in (
        ("anthropic", "claude-sonnet-4-5", "claude"),
        ("openai", "gpt-5", "codex"),
        ("google", "gemini-2.5-pro", "gemini"),
    ):
        found = price(provider=provider, model=model, tokens=million, at=datetime.now(UTC))
        assert found
        assert found.usd == dollars(kind, (100_000, 0, 100_000))
