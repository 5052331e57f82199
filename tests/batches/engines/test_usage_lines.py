import json
from decimal import Decimal
from typing import Any

import pytest

from batches.engines.command import CommandEngine, check_options
from batches.engines.events import Usage
from batches.engines.template import CommandError
from batches.engines.usage_lines import ODD, UsageLines
from costs.tokens import Tokens

FORM = {"input": "usage.prompt", "output": "usage.completion", "model": "model", "id": "id"}
PATTERN = r"Tokens: (?P<input>[\d,]+) sent, (?P<output>[\d,]+) received, \$(?P<cost>[\d.]+)"


def read(form: dict[str, Any], *lines: str, model: str = "") -> list[Usage]:
    parser = UsageLines(form, model=model)
    found = [
        event for at, line in enumerate(lines) for event in parser.read(line.encode(), at) or ()
    ]
    assert all(isinstance(event, Usage) for event in found)
    return [event for event in found if isinstance(event, Usage)]


def test_tokens_are_found_in_json_lines_by_dotted_names() -> None:
    line = json.dumps({"usage": {"prompt": 10, "completion": 3}, "model": "m1", "id": "c7"})
    (usage,) = read(FORM, "Starting", line, '{"other": 1}')
    assert (usage.call_id, usage.model) == ("c7", "m1")
    assert usage.tokens == Tokens(input=10, output=3)


def test_tokens_are_found_in_text_by_a_pattern() -> None:
    (usage,) = read(
        {"pattern": PATTERN}, "x", "Tokens: 2,001 sent, 28 received, $0.0123", model="m2"
    )
    assert usage.tokens == Tokens(input=2001, output=28)
    assert (usage.reported_usd, usage.model, usage.call_id) == (Decimal("0.0123"), "m2", "line:1")


def test_an_input_that_includes_the_cache_is_split() -> None:
    form = {"input": "i", "cache_read": "c", "output": "o", "input_has_cache": True}
    (usage,) = read(form, '{"i": 100, "c": 60, "o": 5}')
    assert usage.tokens == Tokens(input=40, cache_read=60, output=5)


@pytest.mark.parametrize("told", ["1e13", "99999999999999999999", "-1", "1.5", '"many"'])
def test_a_number_that_cannot_be_counted_is_said_and_not_passed_over(told: str) -> None:
    form = {"input": "in", "output": "out", "cumulative": True}
    lines = ['{"in": 10, "out": 5}', f'{{"in": {told}, "out": 7}}', '{"in": 30, "out": 9}']
    first, odd, last = read(form, *lines)
    assert (first.estimated, first.note) == (False, "")
    assert (odd.estimated, odd.note, odd.tokens) == (True, ODD, Tokens())
    assert (last.estimated, last.tokens) == (False, Tokens(input=20, output=4))
    huge = read(
        {"pattern": r"in (?P<input>\d+) \$(?P<cost>\S+)"}, f"in {'9' * 1000} $0.1", "in 1 $1e9"
    )
    assert [one.estimated for one in huge] == [True, True]


def test_counters_that_only_grow_are_charged_by_the_difference() -> None:
    form = {"input": "i", "output": "o", "cumulative": True}
    found = read(form, '{"i": 100, "o": 5}', '{"i": 150, "o": 9}', '{"i": 20, "o": 1}')
    assert [usage.tokens.input for usage in found] == [100, 50, 20]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ([], "object"),
        ({"inptu": "a"}, "inptu"),
        ({"model": "a"}, "input"),
        ({"input": 3}, "input"),
        ({"input": "a", "cumulative": "yes"}, "cumulative"),
        ({"pattern": "("}, "pattern"),
        ({"pattern": "no groups"}, "groups"),
        ({"pattern": "(?P<inptu>1)"}, "groups"),
    ],
)
def test_a_format_that_cannot_work_is_refused_where_it_is_defined(form: Any, said: str) -> None:
    if form == []:
        form = ["input"]
    with pytest.raises(CommandError, match=said):
        check_options({"argv": ["true"], "usage": form})


def test_without_a_format_nothing_is_parsed() -> None:
    assert CommandEngine().parser({"argv": ["true"]}) is None
