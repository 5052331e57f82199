"""Every way in which a provider fails has its own end."""

import time

import pytest

from batches.reasons import Reason
from tests.batches.engines.builtin.running import Place, told
from tests.fakes.model_server import (
    Call,
    Fault,
    Script,
    Turn,
    cut,
    malformed,
    model_server,
    overloaded,
    slow,
    stall,
    status,
)

CREATE = Call("create_file", {"path": "made.txt", "content": "x"})
BOTH = ["anthropic", "openai"]
FOREVER = 99
ENDS = [
    # fault for ever, last word, reason, requests (two retries are allowed)
    (status(401, times=FOREVER), "auth", Reason.AUTH, 1),
    (status(403, times=FOREVER), "auth", Reason.AUTH, 1),
    (status(400, times=FOREVER), "bad_request", Reason.BAD_REQUEST, 1),
    (status(404, times=FOREVER), "bad_request", Reason.BAD_REQUEST, 1),
    (status(429, retry_after="0", times=FOREVER), "rate_limited", Reason.RATE_LIMITED, 3),
    (status(500, times=FOREVER), "server_error", Reason.SERVER_ERROR, 3),
    (status(529, body=b"<html>busy</html>", times=FOREVER), "server_error", Reason.SERVER_ERROR, 3),
    (overloaded(times=FOREVER), "server_error", Reason.SERVER_ERROR, 3),
    (cut(times=FOREVER), "cut", Reason.SERVER_ERROR, 3),
    (malformed(times=FOREVER), "malformed", Reason.SERVER_ERROR, 3),
    (stall(times=FOREVER), "stalled", Reason.SERVER_ERROR, 3),
]


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(("fault", "word", "reason", "requests"), ENDS, ids=str)
def test_a_fault_that_lasts_ends_the_run_by_its_name(
    place: Place, provider: str, fault: Fault, word: str, reason: Reason, requests: int
) -> None:
    with model_server(Turn("Hello there", [CREATE], faults=[fault])) as server:
        ran = place.run(server, provider=provider, silence_s=0.5)
        assert len(server.requests) == requests
    assert (ran.outcome.kind, ran.outcome.reason, ran.last_word) == ("failed", reason, word)
    assert len(ran.of("retry")) == requests - 1
    assert not (place.tree / "made.txt").exists()


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    "fault",
    [status(429, retry_after="0.2"), status(500), cut(), malformed(), overloaded(), stall()],
    ids=str,
)
def test_a_fault_that_passes_is_got_over(place: Place, provider: str, fault: Fault) -> None:
    with model_server(Turn("Hello", [CREATE], faults=[fault]), Turn("Done.")) as server:
        ran = place.run(server, provider=provider, silence_s=0.5)
        assert ran.outcome.kind == "completed", ran.lines
        exact = [line for line in ran.of("usage") if not line["estimated"]]
        assert sum(line["output"] for line in exact) == told(server).output
        assert sum(line["input"] for line in exact) == told(server).input
        begun = sum(request.begun.input for request in server.requests)
    guessed = [line for line in ran.of("usage") if line["estimated"]]
    assert sum(line["input"] for line in guessed) == begun  # paid for, though never answered
    assert (place.tree / "made.txt").read_text() == "x"


def test_it_waits_as_long_as_the_provider_asks(place: Place) -> None:
    with model_server(Turn("Done.", faults=[status(429, retry_after="1")])) as server:
        before = time.monotonic()
        ran = place.run(server)
    assert ran.outcome.kind == "completed"
    assert time.monotonic() - before >= 1
    assert ran.of("retry")[0]["wait_s"] == 1.0


def test_it_does_not_wait_longer_than_it_may_and_says_when_to_come_back(place: Place) -> None:
    with model_server(Turn("Done.", faults=[status(429, retry_after="3600")])) as server:
        ran = place.run(server)
        assert len(server.requests) == 1
    assert ran.outcome.reason is Reason.RATE_LIMITED
    assert ran.evidence.retry_after_s == 3600
    assert ran.evidence.resets_at == pytest.approx(time.time() + 3600, abs=60)


def test_a_used_up_quota_is_not_asked_again(place: Place) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    with model_server(Turn("Done.", faults=[status(429, body=body, times=9)])) as server:
        ran = place.run(server, provider="openai")
        assert len(server.requests) == 1
    assert ran.outcome.reason is Reason.RATE_LIMITED


def test_a_slow_answer_is_no_fault(place: Place) -> None:
    with model_server(Turn("Done.", faults=[slow(0.2)])) as server:
        ran = place.run(server, silence_s=1)
    assert (ran.outcome.kind, ran.of("retry")) == ("completed", [])


def test_an_address_where_nobody_listens_is_told_apart(place: Place) -> None:
    with model_server(Turn("Done.")) as server:
        pass
    ran = place.run(server, retries=1)
    assert (ran.outcome.reason, ran.last_word) == (Reason.SERVER_ERROR, "unreachable")


def test_a_page_that_is_no_stream_is_not_taken_for_an_answer(place: Place) -> None:
    page = status(200, body=b"<html>Log in</html>", times=9)
    with model_server(Turn("Done.", faults=[page])) as server:
        ran = place.run(server, retries=0)
    assert ran.last_word == "malformed"


@pytest.mark.parametrize(
    ("provider", "error"),
    [
        ("anthropic", {"type": "invalid_request_error", "message": "prompt is too long: 210000"}),
        ("openai", {"message": "too much", "code": "context_length_exceeded"}),
    ],
)
def test_a_conversation_that_became_too_long_is_made_shorter(
    place: Place, provider: str, error: dict[str, str]
) -> None:
    big = "x" * 3_000
    writes = [
        Turn("", [Call("create_file", {"path": f"{n}.txt", "content": big})]) for n in range(8)
    ]
    refused = status(400, body={"error": error})
    script = Script([*writes, Turn("Done.", faults=[refused])], in_order=True)
    with model_server(scripts=[script]) as server:
        ran = place.run(server, provider=provider)
        sizes = [len(str(request.body["messages"])) for request in server.requests]
    assert ran.outcome.kind == "completed", ran.lines[-3:]
    assert sizes[-1] < sizes[-2] * 0.6
