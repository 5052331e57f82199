import json
from decimal import Decimal

import pytest

from batches.engines.builtin.parser import BuiltinParser
from batches.engines.events import Ended, EngineEvent, Limit, Trouble, Usage
from costs.tokens import Tokens

USAGE = {
    "type": "usage",
    "id": "a1",
    "model": "m",
    "input": 5,
    "cache_read": 4,
    "cache_write": 3,
    "output": 2,
    "reasoning": 1,
    "dollars": "0.0012",
    "estimated": False,
}


def read(*lines: object) -> list[EngineEvent]:
    parser = BuiltinParser()
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return [event for line in raw for event in parser.read(line) or ()]


def test_usage_is_told_to_the_token() -> None:
    tokens = Tokens(input=5, cache_read=4, cache_write=3, output=2, reasoning=1)
    told = Usage(call_id="a1", model="m", tokens=tokens, reported_usd=Decimal("0.0012"))
    assert read(USAGE) == [told]
    assert read(dict(reversed(USAGE.items())), {**USAGE, "new_field": {"x": 1}}) == [told, told]


@pytest.mark.parametrize("odd", [-1, 1.5, "7", 10**30, True, [1], float("nan")])
def test_an_odd_count_is_no_count_and_makes_it_an_estimate(odd: object) -> None:
    (event,) = read({**USAGE, "output": odd}) or [None]
    if event is None:  # NaN is no JSON
        return
    assert isinstance(event, Usage)
    assert (event.tokens.output, event.estimated) == (0, True)


@pytest.mark.parametrize("odd", ["-1", "NaN", "Infinity", "x", "", None, 7])
def test_an_odd_amount_is_no_amount(odd: object) -> None:
    (event,) = read({**USAGE, "dollars": odd})
    assert isinstance(event, Usage)
    assert event.reported_usd is None


def test_a_line_cut_anywhere_is_passed_over() -> None:
    line = json.dumps(USAGE).encode()
    assert [event for end in range(len(line)) for event in read(line[:end])] == []


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0\xff\xfe",
        b"[]",
        b"null",
        b'{"type": 7}',
        b'{"type": "from the future"}',
        b'{"type": "usage"}',
        b'{"type": "message", "text": 7}',
        b"{" * 100_000,
        b"x" * 1_000_000,
    ],
)
def test_garbage_is_passed_over(line: bytes) -> None:
    assert read(line) == []


def test_what_has_a_carriage_return_or_a_megabyte_is_read() -> None:
    assert len(read(json.dumps(USAGE).encode() + b"\r")) == 1
    (event,) = read({"type": "message", "text": "x" * 1_000_000})
    assert event.kind == "message"


def test_a_provider_that_wants_rest_is_a_limit_and_our_own_budget_is_none() -> None:
    rate = {"type": "limit", "kind": "rate", "text": "slow", "retry_after_s": 5, "resets_at": 9}
    assert read(rate) == [Limit(text="slow", retry_after_s=5.0, resets_at=9.0)]
    assert read({"type": "limit", "kind": "turns", "text": "45"}) == []


def test_errors_tell_whether_the_provider_failed() -> None:
    (event,) = read({"type": "error", "kind": "cut", "text": "broke off", "status": None})
    assert event == Trouble(text="broke off", server=True)
    (event,) = read({"type": "error", "kind": "auth", "text": "no", "status": 401})
    assert event == Trouble(text="no", status=401)


def test_only_done_is_a_good_end() -> None:
    end = {"type": "end", "ok": True, "reason": "done", "text": "fine"}
    assert read(end) == [Ended(ok=True, text="fine")]
    assert read({**end, "reason": "loop"}) == [Ended(ok=False, text="fine")]
    assert read({**end, "ok": 1}) == [Ended(ok=False, text="fine")]
