import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from typing import Any

import pytest

from tests.fakes.model_server import (
    Call,
    ModelServer,
    Script,
    Turn,
    Usage,
    cut,
    malformed,
    model_server,
    overloaded,
    stall,
    status,
)

USAGE = Usage(input=70, cache_read=20, cache_write=10, output=30, reasoning=5)
TURNS = (
    Turn("Working on it.", [Call("write", {"path": "a", "content": "é"})], usage=USAGE),
    Turn("Done.", usage=Usage(input=5, output=2)),
)
TOOLS = {"tools": [{"name": "write"}]}
ASSISTANT = {"role": "assistant", "content": "x"}
USER = {"role": "user", "content": "go"}
GEMINI = "/v1beta/models/gemini-x"
PROTOCOLS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    # name: path, path when it streams, first request, second request
    "messages": ("/v1/messages",) * 2 + ({"messages": [USER]}, {"messages": [USER, ASSISTANT]}),
    "chat": ("/v1/chat/completions",) * 2
    + ({"messages": [USER]}, {"messages": [USER, ASSISTANT, {"role": "tool", "content": ""}]}),
    "responses": ("/v1/responses",) * 2
    + (
        {"input": [USER]},
        {"input": [USER, ASSISTANT, {"type": "function_call"}, {"type": "function_call_output"}]},
    ),
    "gemini": (
        f"{GEMINI}:generateContent",
        f"{GEMINI}:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user"}]},
        {"contents": [{"role": "user"}, {"role": "model"}, {"role": "user"}]},
    ),
}
all_protocols = pytest.mark.parametrize("name", PROTOCOLS)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(*TURNS) as started:
        yield started


def post(server: ModelServer, path: str, body: dict[str, Any]) -> HTTPResponse:
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    connection.request("POST", path, json.dumps({"model": "m", **TOOLS, **body}))
    return connection.getresponse()


def whole(server: ModelServer, name: str, which: int) -> Any:
    return json.loads(post(server, PROTOCOLS[name][0], PROTOCOLS[name][2 + which]).read())


def streamed(server: ModelServer, name: str, which: int = 0, **extra: Any) -> list[Any]:
    asked = {"stream": True, "stream_options": {"include_usage": True}, **extra}
    response = post(server, PROTOCOLS[name][1], PROTOCOLS[name][2 + which] | asked)
    datas = [line[6:] for line in response.read().split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(data) for data in datas if data != b"[DONE]"]


def told(name: str, answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer["usageMetadata" if name == "gemini" else "usage"]
    return found


@all_protocols
def test_the_turn_is_chosen_by_the_replies_in_the_history(server: ModelServer, name: str) -> None:
    texts = [json.dumps(whole(server, name, which)) for which in (0, 1, 0)]
    assert ["Done." in text for text in texts] == [False, True, False]
    assert [request.step for request in server.requests] == [0, 1, 0]
    assert server.told == USAGE.plus(USAGE).plus(Usage(input=5, output=2))


@all_protocols
def test_a_stream_says_the_same_as_the_whole_answer(server: ModelServer, name: str) -> None:
    text = json.dumps(streamed(server, name), ensure_ascii=False)
    assert '"write"' in text
    assert server.answered[0].stream
    last = [piece for piece in streamed(server, name, 1) if '"usage' in json.dumps(piece)][-1]
    expected = told(name, whole(server, name, 1))
    assert told(name, last.get("response", last)) == expected


def test_cached_tokens_are_told_in_each_protocols_own_way(server: ModelServer) -> None:
    assert told("messages", whole(server, "messages", 0)) == {
        "input_tokens": 70,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 20,
        "output_tokens": 30,
    }
    chat = told("chat", whole(server, "chat", 0))
    assert (chat["prompt_tokens"], chat["prompt_tokens_details"]) == (100, {"cached_tokens": 20})
    responses = told("responses", whole(server, "responses", 0))
    assert responses["output_tokens_details"] == {"reasoning_tokens": 5}
    gemini = told("gemini", whole(server, "gemini", 0))
    assert (gemini["candidatesTokenCount"], gemini["thoughtsTokenCount"]) == (25, 5)


def test_chat_tells_usage_in_a_stream_only_when_asked(server: ModelServer) -> None:
    pieces = streamed(server, "chat", stream_options={})
    assert not any("usage" in piece for piece in pieces)


def test_arguments_come_in_pieces_that_join_to_json(server: ModelServer) -> None:
    deltas = [p.get("delta", {}) for p in streamed(server, "messages")]
    text = "".join(delta.get("partial_json", "") for delta in deltas)
    assert json.loads(text) == {"path": "a", "content": "é"}


@all_protocols
def test_an_error_answer_is_given_as_often_as_told(name: str) -> None:
    turn = Turn("ok", faults=[status(429, retry_after="3", times=2), status(500)])
    with model_server(turn) as server:
        path, _, body, _ = PROTOCOLS[name]
        answers = [post(server, path, body) for _ in range(4)]
    assert [answer.status for answer in answers] == [429, 429, 500, 200]
    assert answers[0].headers["Retry-After"] == "3"
    assert [request.answered for request in server.requests] == [False, False, False, True]
    assert server.told == Usage()


@all_protocols
def test_a_cut_answer_ends_before_its_end_and_counts_as_unanswered(name: str) -> None:
    with model_server(Turn("a long text", faults=[cut()])) as server:
        with pytest.raises((IncompleteRead, ConnectionError)):
            streamed(server, name)
        assert server.answered == []
        assert server.requests[0].fault == "cut"
        assert streamed(server, name)
    assert server.told == Usage()


def test_a_malformed_stream_has_one_line_that_is_no_json() -> None:
    with model_server(Turn("text", faults=[malformed()])) as server:
        with pytest.raises(ValueError, match="Unterminated"):
            streamed(server, "messages")
        assert server.answered == []


def test_an_overloaded_stream_says_so_inside() -> None:
    with model_server(Turn("text", faults=[overloaded()])) as server:
        assert streamed(server, "messages")[-1]["error"]["type"] == "overloaded_error"
        assert server.answered == []


def test_a_stall_lasts_until_it_is_released() -> None:
    with model_server(Turn("text", faults=[stall()])) as server:
        response = post(server, "/v1/messages", {"messages": [USER], "stream": True})
        assert response.read(1)
        response.fp.raw._sock.settimeout(0.2)  # type: ignore[union-attr]
        with pytest.raises((socket.timeout, TimeoutError)):
            response.read()
        server.release()
        assert server.requests[0].done.wait(10)


def test_a_request_without_tools_uses_no_turn(server: ModelServer) -> None:
    body = {"messages": [USER], "tools": []}
    assert b"Scripted title" in post(server, "/v1/chat/completions", body).read()
    assert (server.requests[0].side, server.requests[0].step) == (True, None)
    assert server.told == Usage(input=20, output=4)


def test_scripts_are_told_apart_by_words_of_the_request() -> None:
    scripts = [Script([Turn("one")], when="task A"), Script([Turn("two")], last_repeats=True)]
    with model_server(scripts=scripts) as server:
        asked = {"messages": [{"role": "user", "content": "do task A"}]}
        assert b"one" in post(server, "/v1/messages", asked).read()
        assert b"two" in post(server, "/v1/messages", {"messages": [USER]}).read()
        assert b"two" in post(server, "/v1/messages", {"messages": [USER, ASSISTANT]}).read()


def test_behind_its_last_turn_a_script_is_at_a_loss(server: ModelServer) -> None:
    history = [USER, ASSISTANT, USER, ASSISTANT]
    answer = post(server, "/v1/messages", {"messages": history})
    assert answer.status == 400
    assert b"no turn behind 2 replies" in answer.read()
