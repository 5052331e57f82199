"""The agent at work, against a provider at the wire."""

import json
from decimal import Decimal

import pytest

from batches.engines.builtin.settings import USUAL
from batches.reasons import Reason
from tests.batches.engines.builtin.running import KEY, Place, told
from tests.fakes.model_server import Call, Script, Turn, Usage, model_server

both = pytest.mark.parametrize("provider", ["anthropic", "openai"])
CREATE = Call("create_file", {"path": "src/hello.txt", "content": "hello wörld\n"})
FIRST = Usage(input=1_000, cache_read=300, cache_write=200, output=70, reasoning=0)
PRICE = {"input": "3", "output": "15", "cache_read": "0.3", "cache_write": "3.75"}


@both
def test_it_makes_a_file_and_tells_every_token(place: Place, provider: str) -> None:
    with model_server(Turn("Let me.", [CREATE], usage=FIRST), Turn("Made it.")) as server:
        ran = place.run(server, "Greet the world", provider=provider)
        assert ran.outcome.kind == "completed", ran.lines
        assert (place.tree / "src" / "hello.txt").read_text() == "hello wörld\n"
        written = 0 if provider == "openai" else 200  # which OpenAI's protocol does not tell apart
        assert ran.tokens.cache_write == written
        assert ran.tokens.input + ran.tokens.cache_write == told(server).input + 200
        assert (ran.tokens.cache_read, ran.tokens.output) == (300, 80)
    assert [event.kind for event in ran.events] == [
        "session",
        "usage",
        "message",
        "tool_call",
        "tool_result",
        "file_change",
        "usage",
        "message",
        "end",
    ]
    assert ran.evidence.ended_text == "Made it."


def test_dollars_are_exact_to_the_last_digit(place: Place) -> None:
    with model_server(Turn("", [CREATE], usage=FIRST), Turn("Made it.")) as server:
        ran = place.run(server, price=PRICE)
    # 1,100 x 3 + 300 x 0.3 + 200 x 3.75 + 80 x 15, per million
    assert ran.dollars == Decimal("0.00534")


def test_several_calls_of_one_reply_are_done_in_order(place: Place) -> None:
    calls = [
        CREATE,
        Call(
            "edit_file", {"path": "src/hello.txt", "edits": [{"search": "hello", "replace": "hi"}]}
        ),
        Call("run_command", {"command": "cat src/hello.txt"}),
    ]
    with model_server(Turn("", calls), Turn("Done.")) as server:
        ran = place.run(server, provider="openai")
        told_back = server.requests[1].body["messages"][-3:]
    assert ran.outcome.kind == "completed"
    assert [message["role"] for message in told_back] == ["tool"] * 3
    assert told_back[2]["content"] == "hi wörld\n\n[exit code 0]"


@both
def test_a_wrong_call_is_answered_and_the_work_goes_on(place: Place, provider: str) -> None:
    calls = [
        Call("no_such_tool", {}),
        Call("read_file", {"path": 7}),
        Call("read_file", {"path": "../outside"}),
    ]
    if provider == "openai":
        calls.append(Call("read_file", '{"path": '))
    with model_server(Turn("", calls), Turn("Sorry.")) as server:
        ran = place.run(server, provider=provider)
    assert ran.outcome.kind == "completed"
    assert [line["ok"] for line in ran.of("tool_result")] == [False] * len(calls)


def test_it_does_not_know_harmless_words_as_trouble(place: Place) -> None:
    said = "Added the api key column. permission denied is handled; credentials, forbidden, why?"
    command = "echo permission denied: api key missing >&2; rm -f scratch 2>/dev/null"
    with model_server(Turn("", [Call("run_command", {"command": command})]), Turn(said)) as server:
        ran = place.run(server)
    assert (ran.outcome.kind, ran.evidence.ended_text) == ("completed", said)


@both
def test_a_question_blocks_and_its_answer_continues_the_session(
    place: Place, provider: str
) -> None:
    calls = [CREATE, Call("ask", {"question": "Which colour, red or blue?"}), CREATE]
    turns = Turn("I wonder.", calls), Turn("", [Call("list_files", {})]), Turn("Blue it is.")
    with model_server(*turns) as server:
        asked = place.run(server, provider=provider)
        assert (asked.outcome.kind, asked.outcome.reason) == ("blocked", Reason.QUESTION)
        assert asked.outcome.sentence == "Which colour, red or blue?"
        session_id = asked.evidence.session_id
        answered = place.run(server, "Blue.", session_id=session_id, provider=provider)
        assert answered.outcome.kind == "completed"
        assert answered.evidence.session_id == session_id
        history = json.dumps(server.requests[1].body["messages"], ensure_ascii=False)
    assert "I wonder." in history
    assert "Created src/hello.txt" in history
    assert "Blue." in history
    assert [request.step for request in server.requests] == [0, 1, 2]


def test_a_correction_continues_the_session(place: Place) -> None:
    with model_server(Turn("", [CREATE]), Turn("Done."), Turn("Mended.")) as server:
        first = place.run(server)
        session_id = first.evidence.session_id
        second = place.run(server, "The tests fail: mend them.", session_id=session_id)
    assert second.evidence.ended_text == "Mended."
    assert server.requests[2].body["messages"][-1]["content"][0]["text"].startswith("The tests")


def test_a_session_that_is_gone_is_begun_anew(place: Place) -> None:
    with model_server(Turn("Done.")) as server:
        ran = place.run(server, session_id="nobody-knows-it")
    assert ran.outcome.kind == "completed"
    assert ran.of("session")[0]["resumed"] is False


@both
def test_an_answer_cut_short_by_its_length_is_no_end(place: Place, provider: str) -> None:
    turns = Turn("I will now", stop="length"), Turn("", [CREATE]), Turn("Done.")
    with model_server(*turns) as server:
        ran = place.run(server, provider=provider)
    assert ran.outcome.kind == "completed"
    assert (place.tree / "src" / "hello.txt").exists()


def test_an_agent_that_only_says_nothing_has_not_done_its_work(place: Place) -> None:
    with model_server(scripts=[Script([Turn("")], last_repeats=True)]) as server:
        ran = place.run(server)
    assert (ran.outcome.kind, ran.last_word) == ("failed", "empty")
    assert len(server.requests) == 3


@both
def test_a_model_that_refuses_has_failed(place: Place, provider: str) -> None:
    with model_server(Turn("I will not.", stop="refusal")) as server:
        ran = place.run(server, provider=provider)
    assert (ran.outcome.kind, ran.last_word) == ("failed", "refusal")


def test_thinking_goes_back_as_it_came(place: Place) -> None:
    with model_server(Turn("", [CREATE], thinking="Hmm."), Turn("Done.")) as server:
        place.run(server)
        block = server.requests[1].body["messages"][1]["content"][0]
    assert block == {"type": "thinking", "thinking": "Hmm.", "signature": "c2lnbmVk"}


def test_a_server_that_tells_no_usage_is_counted_by_estimate(place: Place) -> None:
    from tests.fakes.model_server import chat

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat, "_usage", lambda usage: None)
        with model_server(Turn("Done.")) as server:
            ran = place.run(server, provider="openai")
    usage = ran.of("usage")[0]
    assert usage["estimated"] is True
    assert usage["input"] > 100


LOOK = Turn("", [Call("run_command", {"command": "date +%N"})], usage=Usage(input=90, output=10))


@pytest.mark.parametrize(
    ("limit", "word", "reason", "requests"),
    [
        ({"max_turns": 4}, "turns", Reason.TURNS, 4),
        ({"max_tokens": 250}, "tokens", Reason.BUDGET, 3),
        ({"max_dollars": "0.001", "price": PRICE}, "dollars", Reason.BUDGET, 3),
    ],
)
def test_a_limit_is_passed_by_one_request_at_most(
    place: Place, limit: dict[str, object], word: str, reason: Reason, requests: int
) -> None:
    with model_server(scripts=[Script([LOOK], last_repeats=True)]) as server:
        ran = place.run(server, **limit)
    assert (ran.outcome.reason, ran.last_word) == (reason, word)
    assert len(server.requests) == requests


def test_the_last_reply_is_asked_to_be_as_short_as_the_limit(place: Place) -> None:
    with model_server(
        Turn("", [CREATE], usage=Usage(input=90, output=10)), Turn("Done.")
    ) as server:
        place.run(server, max_tokens=1_000)
    assert [request.body["max_tokens"] for request in server.requests] == [1_000, 900]


def test_the_key_reaches_the_provider_and_nobody_else(place: Place) -> None:
    look = (
        "env | grep TEST_; tr '\\0' '\\n' </proc/$PPID/environ | grep -a TEST_KEY; "
        "printf '%s-of-the-test' sk-secret"
    )
    with model_server(Turn("", [Call("run_command", {"command": look})]), Turn(KEY)) as server:
        ran = place.run(server)
        assert server.requests[0].headers["x-api-key"] == KEY
        assert KEY not in json.dumps(server.requests[1].body)
        assert "[redacted]" in json.dumps(server.requests[1].body)
    seen = ran.of("tool_result")[0]["text"]
    assert "TEST_KEY=xxx" in seen
    assert "TEST_KEY=[" not in seen
    assert KEY not in json.dumps(ran.lines)
    session = (place.folder / "home" / "builtin" / "session.jsonl").read_text()
    assert session.count(KEY) == session.count(f'"text":"{KEY}"')


def test_the_tree_cannot_put_its_own_modules_in_the_way(place: Place) -> None:
    for name in ("json.py", "batches.py", "httpx2.py", "sitecustomize.py", "costs.py"):
        (place.tree / name).write_text("open('/tmp/never', 'w'); raise SystemExit(3)\n")
    with model_server(Turn("Done.")) as server:
        assert place.run(server).outcome.kind == "completed"


def test_without_a_key_the_usual_address_is_refused_before_the_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from batches.engines.builtin.engine import BuiltinEngine

    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for options in ({"model": "claude-x"}, {"model": "gpt-x"}, {}):
        problem = BuiltinEngine().check(options)
        assert problem is not None
        assert problem.reason is Reason.AUTH
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")
    assert BuiltinEngine().check({}) is None
    assert BuiltinEngine().check({"model": "llama"}) is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert BuiltinEngine().check({"model": "claude-x"}) is None
    assert USUAL["anthropic"].startswith("https://")


@pytest.mark.parametrize(("permission", "tools"), [("bypass", 8), ("edits", 6), ("read", 4)])
def test_it_may_do_what_the_policy_allows(place: Place, permission: str, tools: int) -> None:
    calls = [CREATE, Call("run_command", {"command": "touch ran"})]
    with model_server(Turn("", calls), Turn("I could not.")) as server:
        ran = place.run(server, permission=permission)
        assert len(server.requests[0].body["tools"]) == tools
    assert (place.tree / "src" / "hello.txt").exists() is (permission != "read")
    assert (place.tree / "ran").exists() is (permission == "bypass")
    assert [denial.partition(":")[0] for denial in ran.evidence.denials] == {
        "bypass": [],
        "edits": ["run_command"],
        "read": ["create_file", "run_command"],
    }[permission]
