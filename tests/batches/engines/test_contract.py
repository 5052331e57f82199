"""What every agent's engine must do with every output, however it is damaged."""

import json
import random
from decimal import Decimal
from typing import Any

import pytest

from batches.engines import NAMED, load
from batches.engines.events import (
    Ended,
    FileChange,
    Message,
    Session,
    ToolCall,
    ToolResult,
    Usage,
)
from batches.engines.lines import LONGEST, Lines
from tests.batches.engines.reading import (
    FILES,
    GOOD,
    TRUTH,
    engine_of,
    lines_of,
    outcome_of,
    parser_of,
    read_all,
    spent,
)

ARGUMENTS = ("input", "tool_input", "parameters")
GARBAGE = [
    b"",
    b"plain words",
    b"{",
    b"[1, 2]",
    b'"text"',
    b"null",
    b'{"type": NaN}',
    b'{"type": ' + b"9" * 5000 + b"}",
    b"{" * 5000,
    b'{"a":' * 100_000,
    b"\x00\x00{}\x00",
    b"\xff\xfe{}\xe9",
    b'{"type": {"deep": []}}',
    b'{"type": "result"}',
    b'{"type": "unheard-of", "payload": [1, {"x": null}]}',
]


@pytest.mark.parametrize("file", GOOD)
def test_a_good_run_is_told_in_the_same_words(file: str) -> None:
    events = read_all(parser_of(file), lines_of(file))
    kinds = {type(event) for event in events}
    assert kinds >= {Session, Message, ToolCall, ToolResult, FileChange, Usage, Ended}
    assert [event.ok for event in events if isinstance(event, Ended)] == [True]
    assert any(e.path.endswith("tea.txt") for e in events if isinstance(e, FileChange))
    said = [event.text for event in events if isinstance(event, Message)]
    assert said == ["I write the file.", "All done."]
    assert outcome_of(file, events, 0).kind == "completed"


@pytest.mark.parametrize("file", GOOD)
def test_every_token_counts_once(file: str) -> None:
    events = read_all(parser_of(file), lines_of(file))
    assert spent(events) == TRUTH[engine_of(file)]
    assert not any(event.estimated for event in events if isinstance(event, Usage))


def test_a_good_run_of_every_agent_is_here() -> None:
    assert {engine_of(file) for file in GOOD} == set(NAMED)


@pytest.mark.parametrize("file", FILES)
def test_output_that_breaks_off_anywhere_is_no_success_and_no_crash(file: str) -> None:
    lines = lines_of(file)
    whole = spent(read_all(parser_of(file), lines))
    for end in range(len(lines)):
        events = read_all(parser_of(file), lines[:end])
        outcome = outcome_of(file, events, 0)
        if not any(isinstance(event, Ended) and event.ok for event in events):
            assert outcome.kind != "completed"
        assert outcome_of(file, events, 1).kind == "failed"
        told = spent(events)
        assert told.input <= whole.input
        assert told.output <= whole.output


@pytest.mark.parametrize("file", FILES)
def test_a_line_that_is_cut_in_two_is_passed_over(file: str) -> None:
    """By a spool that has lost its middle."""
    for line in lines_of(file):
        for cut in (1, len(line) // 2, len(line) - 1):
            assert not parser_of(file).read(line[:cut])
            assert not parser_of(file).read(line[cut:])


@pytest.mark.parametrize("file", FILES)
def test_new_fields_and_another_order_change_nothing(file: str) -> None:
    usual = read_all(parser_of(file), lines_of(file))
    rng = random.Random(7)
    strange = [json.dumps(_strange(json.loads(line), rng)).encode() for line in lines_of(file)]
    assert strange != lines_of(file)
    assert read_all(parser_of(file), strange) == usual


def _strange(value: Any, rng: random.Random) -> Any:
    """Keys shuffled and added wherever they are the engine's own."""
    if isinstance(value, list):
        return [_strange(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    items = [
        (name, item if name in ARGUMENTS else _strange(item, rng)) for name, item in value.items()
    ]
    if not value.keys() & {"claude-sonnet-4-5", "gemini-2.5-pro"}:
        items += [("new_field", {"deep": [1, None, "x"]}), ("_other", True)]
    rng.shuffle(items)
    return dict(items)


@pytest.mark.parametrize("file", FILES)
def test_fields_of_another_type_never_raise(file: str) -> None:
    for line in lines_of(file):
        for value in (None, 7, -1, 2**63, 1.5, "x", "\ud800\x00", [], {}, [None], True):
            for bent in _bent(json.loads(line), value):
                parser = parser_of(file)
                read_all(parser, [json.dumps(bent).encode()])


def _bent(node: Any, value: Any) -> list[Any]:
    """The object once for each of its fields, with that one replaced."""
    if isinstance(node, list):
        return [[bent] for item in node[:1] for bent in _bent(item, value)]
    if not isinstance(node, dict):
        return []
    found = []
    for name in node:
        found.append({**node, name: value})
        found += [{**node, name: bent} for bent in _bent(node[name], value)]
    return found


@pytest.mark.parametrize("file", GOOD)
def test_garbage_between_the_lines_changes_nothing(file: str) -> None:
    usual = read_all(parser_of(file), lines_of(file))
    noisy = [part for line in lines_of(file) for part in (*GARBAGE[:-2], b"\x00" + line + b"\r")]
    assert read_all(parser_of(file), noisy) == usual


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("line", GARBAGE)
def test_garbage_alone_never_raises(kind: str, line: bytes) -> None:
    parser = parser_of(f"{kind}-ok.jsonl")
    read_all(parser, [line])


@pytest.mark.parametrize("file", GOOD)
def test_lines_may_be_a_megabyte_long(file: str) -> None:
    usual = read_all(parser_of(file), lines_of(file))
    long = [line[:-1] + b', "filler": "' + b"x" * 1_000_000 + b'"}' for line in lines_of(file)]
    reader, found = Lines(), []
    data = b"\n".join(long) + b"\n"
    for start in range(0, len(data), 700_001):
        found += reader.feed(start, data[start : start + 700_001])
    assert read_all(parser_of(file), [line for _, line in found]) == usual


@pytest.mark.parametrize("file", GOOD)
def test_a_reader_that_goes_on_from_any_line_counts_as_one_that_read_all(file: str) -> None:
    """Another worker takes over: it has the parser's state, and the lines behind it."""
    lines = lines_of(file)
    usual = read_all(parser_of(file), lines)
    for change in range(len(lines)):
        first = parser_of(file)
        events = [event for line in lines[:change] for event in first.read(line) or ()]
        kind = engine_of(file)
        second = load(kind).parser({}, model=first.model, state=json.loads(json.dumps(first.known)))
        assert second is not None
        assert [*events, *read_all(second, lines[change:])] == usual


@pytest.mark.parametrize(
    ("status", "reason", "later"),
    [
        (401, "auth", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (400, "bad_request", False),
    ],
)
@pytest.mark.parametrize("kind", NAMED)
def test_what_the_provider_refused_is_known_by_its_status(
    kind: str, status: int, reason: str, later: bool
) -> None:
    file = f"{kind}-{status}.jsonl"
    outcome = outcome_of(file, read_all(parser_of(file), lines_of(file)), 1)
    assert (outcome.kind, outcome.reason) == ("failed", reason)
    assert outcome.reason is not None
    assert outcome.reason.infrastructure is later


@pytest.mark.parametrize("file", GOOD)
def test_a_good_last_word_and_a_bad_exit_is_no_success(file: str) -> None:
    outcome = outcome_of(file, read_all(parser_of(file), lines_of(file)), 3)
    assert (outcome.kind, outcome.reason) == ("failed", "engine_error")
    assert "3" in outcome.sentence


def test_lines_longer_than_memory_allows_are_dropped_and_the_next_is_whole() -> None:
    reader = Lines()
    piece = b"x" * (1024 * 1024)
    given, at = [], 0
    for part in (*[piece] * 6, b"tail\nnext\n"):
        given += reader.feed(at, part)
        at += len(part)
    assert [line for _, line in given] == [b"next"]
    assert reader.offset == at
    assert 6 * len(piece) > LONGEST


def test_lines_that_come_again_are_given_once_and_a_gap_joins_nothing() -> None:
    reader = Lines()
    assert reader.feed(0, b"one\ntw") == [(0, b"one")]
    assert reader.feed(0, b"one\ntwo\n") == [(4, b"two")]
    assert reader.feed(8, b"thr") == []
    assert reader.feed(100, b"ee\nfour\n") == [(100, b"ee"), (103, b"four")]
    assert reader.gaps == 1
    assert reader.feed(108, b"five") == []
    assert reader.rest() == [(108, b"five")]


def test_a_reader_of_lines_goes_on_where_another_has_stopped() -> None:
    first = Lines()
    assert first.feed(0, b"one\ntwo") == [(0, b"one")]
    second = Lines(first.offset)
    assert second.feed(first.offset, b"two\n") == [(4, b"two")]
    assert second.offset == 8


def test_what_claude_says_it_has_cost_is_kept_beside_the_tokens() -> None:
    events = read_all(parser_of("claude-ok.jsonl"), lines_of("claude-ok.jsonl"))
    reported = [e.reported_usd for e in events if isinstance(e, Usage) and e.reported_usd]
    assert reported == [Decimal("0.1174956")]
