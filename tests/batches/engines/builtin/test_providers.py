"""The two protocols, and the ways in which servers that speak them differ."""

import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from batches.engines.builtin.conversation import Call, Entry, Reply, Result, Results, User
from batches.engines.builtin.errors import ProviderError
from batches.engines.builtin.providers import anthropic, openai
from batches.engines.builtin.providers.stream import _retry_after
from costs.tokens import Tokens

TALK: list[Entry] = [
    User("task"),
    User("more"),
    Reply("well", (Call("1", "a", '{"x": 1}'), Call("2", "b", "broken"))),
    Results((Result("1", "", ok=True), Result("2", "no", ok=False))),
    User("answer"),
]


def chat(*deltas: dict[str, Any], stop: str = "tool_calls", **last: Any) -> openai.Answer:
    draft = openai._Draft(model="m")
    for delta in deltas:
        draft.take({"choices": [{"delta": delta}]}, lambda text: None)
    draft.take({"choices": [{"delta": {}, "finish_reason": stop}], **last}, lambda text: None)
    return draft.answer(asked=400)


def part(name: str = "", arguments: str = "", **extra: Any) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **extra}]}


def test_a_call_may_come_in_pieces_or_whole() -> None:
    pieces = [part("f", '{"a"', index=0, id="c1"), part("", ": 1}", index=0)]
    assert chat(*pieces).reply.calls == (Call("c1", "f", '{"a": 1}'),)
    assert chat(part("f", '{"a": 1}', index=0, id="c1")).reply.calls[0].arguments == '{"a": 1}'


def test_calls_that_all_have_the_index_nought_are_told_apart_by_their_ids() -> None:
    calls = chat(part("f", "{}", index=0, id="c1"), part("g", "[]", index=0, id="c2")).reply.calls
    assert calls == (Call("c1", "f", "{}"), Call("c2", "g", "[]"))


def test_an_id_that_comes_with_every_piece_does_not_make_new_calls() -> None:
    pieces = [part("f", '{"a"', index=0, id="c1"), part("", ": 1}", index=0, id="c1")]
    assert len(chat(*pieces).reply.calls) == 1


def test_a_call_without_an_id_or_arguments_gets_some() -> None:
    (call,) = chat(part("f")).reply.calls
    assert call.id
    assert call.arguments == "{}"


def test_cached_tokens_are_taken_out_of_the_input() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    answer = chat({"content": "x"}, stop="stop", usage=usage)
    assert answer.tokens == Tokens(input=70, cache_read=30, output=9, reasoning=4)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 84_160}},
        {"prompt_tokens": -5, "completion_tokens": "7"},
        {"prompt_tokens": 1.5, "prompt_tokens_details": None},
        {"prompt_tokens": 2**70},
    ],
)
def test_odd_counts_never_become_negative(usage: dict[str, Any]) -> None:
    tokens = chat({"content": "x"}, stop="stop", usage=usage).tokens
    assert min(tokens.input, tokens.cache_read, tokens.output) >= 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "busy", "type": "server_error"}, "server_error"),
        ({"message": "slow", "code": "rate_limit_exceeded"}, "rate_limited"),
        ({"message": "long", "code": "context_length_exceeded"}, "context"),
        ("just words", "server_error"),
    ],
)
def test_an_error_inside_a_stream_is_one(error: object, kind: str) -> None:
    with pytest.raises(ProviderError) as raised:
        openai._Draft(model="m").take({"error": error}, lambda text: None)
    assert raised.value.kind == kind


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": [None, {"function": 7}]}}]},
        {"usage": 7, "id": None, "model": None},
    ],
)
def test_events_of_another_shape_are_passed_over(event: dict[str, Any]) -> None:
    openai._Draft(model="m").take(event, lambda text: None)


def test_chat_messages_never_have_two_users_in_a_row() -> None:
    said = openai.messages(TALK)
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "tool", "user"]
    assert said[0]["content"] == "task\n\nmore"
    assert said[1]["tool_calls"][1]["function"]["arguments"] == "broken"


def test_messages_take_turns_and_hold_no_empty_text() -> None:
    said = anthropic.messages(TALK)
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    results = said[2]["content"]
    assert [block["type"] for block in results] == ["tool_result", "tool_result", "text"]
    assert results[0]["content"] == "(no output)"
    assert results[1]["is_error"] is True
    assert said[1]["content"][2]["input"] == {"invalid": "broken"}
    assert "cache_control" in results[-1]
    assert "cache_control" not in json.dumps(said[:2])


def test_marking_the_cache_leaves_the_conversation_as_it_is() -> None:
    block = {"type": "text", "text": "x"}
    entries: list[Entry] = [User("a"), Reply("x", (), (block,))]
    anthropic.messages(entries)
    assert block == {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": "message_start"},
        {"type": "content_block_delta"},
        {"type": "content_block_delta", "index": 3, "delta": {"text": 7}},
        {"type": "message_delta", "usage": {"output_tokens": "x"}},
        {"type": "from_the_future"},
    ],
)
def test_messages_of_another_shape_are_passed_over(event: dict[str, Any]) -> None:
    anthropic._Draft(model="m").take(event, lambda text: None)


def test_an_answer_without_its_end_is_cut() -> None:
    with pytest.raises(ProviderError, match="before its end"):
        anthropic._Draft(model="m").answer()
    with pytest.raises(ProviderError, match="before its end"):
        openai._Draft(model="m").answer(asked=1)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("5", 5.0), ("0.5", 0.5), ("", None), ("-5", None), ("nan", None), ("soon", None)],
)
def test_retry_after_is_a_number(told: str, seconds: float | None) -> None:
    assert _retry_after({"retry-after": told}) == seconds


def test_retry_after_may_be_a_date() -> None:
    wait = _retry_after({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert wait is not None
    assert 90 < wait <= 101
    assert _retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0
