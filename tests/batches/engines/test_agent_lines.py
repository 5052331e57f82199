"""What is special to one agent's output."""

from decimal import Decimal

import pytest

from batches.engines import load
from batches.engines.base import EngineOutcome, judge
from batches.engines.codex_lines import CodexParser
from batches.engines.events import Denied, Limit, Question, Trouble, Usage
from batches.engines.evidence import Evidence
from costs.tokens import Tokens
from tests.batches.engines.reading import lines_of, outcome_of, parser_of, read_all, spent


def usages(file: str) -> list[Usage]:
    return [e for e in read_all(parser_of(file), lines_of(file)) if isinstance(e, Usage)]


def outcome(file: str, code: int = 0) -> EngineOutcome:
    return outcome_of(file, read_all(parser_of(file), lines_of(file)), code)


# -- claude ----------------------------------------------------------------------------------------


def test_claude_tells_each_call_when_it_is_answered() -> None:
    first, second, total = usages("claude-ok.jsonl")
    assert (first.call_id, first.tokens) == ("m1", Tokens(input=29364, output=32))
    assert second.tokens == Tokens(input=7374, cache_read=22122, output=11)
    assert (total.settles, total.calls, total.tokens) == (True, 0, Tokens())


def test_claude_without_partial_messages_is_estimated_until_the_result_settles_it() -> None:
    first, second, total = usages("claude-plain.jsonl")
    assert first.estimated
    assert second.estimated
    assert total.settles
    assert total.tokens == Tokens(output=41)
    assert spent([first, second, total]) == Tokens(input=36738, cache_read=22122, output=43)


def test_claude_killed_in_a_call_leaves_an_estimate() -> None:
    parser = parser_of("claude-ok.jsonl")
    events = read_all(parser, lines_of("claude-ok.jsonl")[:8])
    last = [event for event in events if isinstance(event, Usage)][-1]
    assert (last.call_id, last.estimated) == ("m2", True)
    assert last.tokens == Tokens(input=7374, cache_read=22122, output=1)


def test_claude_killed_by_a_cut_stream_is_the_providers_fault() -> None:
    result = outcome("claude-cut.jsonl", 1)
    assert result.reason == "server_error"
    assert result.reason.infrastructure


def test_a_model_by_the_name_of_a_day_is_the_same_model() -> None:
    lines = [
        line.replace(b'"model": "claude-sonnet-4-5"', b'"model": "claude-sonnet-4-5-20250929"')
        for line in lines_of("claude-ok.jsonl")
    ]
    events = read_all(parser_of("claude-ok.jsonl"), lines)
    assert spent(events) == Tokens(input=36738, cache_read=22122, output=43)


def test_calls_that_claude_hides_are_in_the_total_and_noted() -> None:
    line = lines_of("claude-ok.jsonl")[-1].replace(
        b'"modelUsage": {',
        b'"modelUsage": {"claude-haiku-4-5": {"inputTokens": 500, "outputTokens": 9,'
        b' "costUSD": 0.000545}, ',
    )
    events = read_all(parser_of("claude-ok.jsonl"), [*lines_of("claude-ok.jsonl")[:-1], line])
    (hidden,) = [e for e in events if isinstance(e, Usage) and e.model == "claude-haiku-4-5"]
    assert (hidden.tokens, hidden.calls) == (Tokens(input=500, output=9), 1)
    assert (hidden.note, hidden.reported_usd) != ("", None)


def test_claude_limits_say_when_to_come_back() -> None:
    events = read_all(parser_of("claude-429.jsonl"), lines_of("claude-429.jsonl"))
    (limit,) = [event for event in events if isinstance(event, Limit)]
    assert limit.retry_after_s == 5
    evidence = Evidence()
    for event in events:
        evidence.note(event)
    assert evidence.retry_after_s == 5
    told = (
        b'{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000}}'
    )
    (limit,) = parser_of("claude-ok.jsonl").read(told) or ()
    assert isinstance(limit, Limit)
    assert limit.resets_at == 1_800_000_000


def test_what_claude_was_denied_is_shown_and_decides_when_nothing_changed() -> None:
    events = read_all(parser_of("claude-denied.jsonl"), lines_of("claude-denied.jsonl"))
    assert [event for event in events if isinstance(event, Denied)] == [
        Denied(tool="Write", detail="tea.txt")
    ]
    result = outcome("claude-denied.jsonl")
    assert result.kind == "completed"
    assert judge(result, changed=False, expects_changes=True).reason == "refused_permission"
    assert judge(result, changed=True, expects_changes=True).kind == "completed"


def test_a_question_by_its_tool_blocks_and_one_in_mere_words_does_not() -> None:
    """Fault 68: harmless words made blockers."""
    result = outcome("claude-question.jsonl")
    assert (result.kind, result.reason) == ("blocked", "question")
    assert result.sentence == "Green or black?\n- Green\n- Black"
    words = b"May I have the API key? Permission denied, forbidden, credentials needed?"
    lines = [line.replace(b"All done.", words) for line in lines_of("claude-ok.jsonl")]
    assert outcome_of("claude-ok.jsonl", read_all(parser_of("claude-ok.jsonl"), lines), 0).kind == (
        "completed"
    )


def test_a_question_that_the_agent_answered_itself_blocks_nothing() -> None:
    call = b'{"type":"tool_use","id":"q","name":"AskUserQuestion","input":{"question":"Which?"}}'
    ask = b'{"type":"assistant","message":{"id":"q","content":[' + call + b"]}}"
    lines = lines_of("claude-ok.jsonl")
    events = read_all(parser_of("claude-ok.jsonl"), [lines[0], ask, *lines[1:]])
    assert any(isinstance(event, Question) for event in events)
    assert outcome_of("claude-ok.jsonl", events, 0).kind == "completed"


def test_claude_out_of_turns_has_failed_with_its_words() -> None:
    result = outcome("claude-max-turns.jsonl", 1)
    assert result.reason == "engine_error"
    assert "maximum number of turns (3)" in result.sentence


# -- codex -----------------------------------------------------------------------------------------


def test_codex_counts_over_its_thread_so_a_resumed_run_is_charged_the_difference() -> None:
    first = parser_of("codex-ok.jsonl")
    read_all(first, lines_of("codex-ok.jsonl"))
    second = CodexParser(model="gpt-5-codex", state=first.carried())
    events = read_all(second, lines_of("codex-resumed.jsonl"))
    assert spent(events) == Tokens(input=3600, cache_read=400, output=20)


def test_codex_in_a_new_thread_or_with_a_counter_that_fell_begins_at_nothing() -> None:
    other = CodexParser(state={"thread": "another", "total": {"input": 10**6, "output": 10**6}})
    events = read_all(other, lines_of("codex-resumed.jsonl"))
    assert spent(events) == Tokens(input=16595, cache_read=8295, output=53, reasoning=10)
    thread = "01a20000-0000-7000-8000-000000000001"
    fell = CodexParser(state={"thread": thread, "total": {"input": 10**6, "output": 10**6}})
    assert spent(read_all(fell, lines_of("codex-resumed.jsonl"))).output == 53


@pytest.mark.parametrize("kind", ["codex", "opencode", "gemini"])
def test_what_was_not_told_is_unknown_and_not_nothing(kind: str) -> None:
    (usage,) = usages(f"{kind}-killed.jsonl")
    assert (usage.call_id, usage.estimated, usage.tokens) == ("untold", True, Tokens())
    assert usage.note


def test_codex_may_try_again_and_succeed() -> None:
    assert outcome("codex-retried.jsonl").kind == "completed"


def test_codex_tells_what_was_declined() -> None:
    assert outcome("codex-declined.jsonl").denials == ("command: rm -r build",)


# -- opencode and gemini ---------------------------------------------------------------------------


def test_opencode_reports_its_cost_and_nothing_where_it_knows_no_price() -> None:
    assert [usage.reported_usd for usage in usages("opencode-ok.jsonl")] == [
        Decimal("0.023844"),
        Decimal("0.0078516"),
    ]
    assert [usage.reported_usd for usage in usages("opencode-reasoned.jsonl")] == [None]


def test_reasoning_is_paid_for_once() -> None:
    (opencode,) = usages("opencode-reasoned.jsonl")
    assert opencode.tokens == Tokens(input=100, output=15, reasoning=5)
    (gemini,) = usages("gemini-thought.jsonl")
    assert gemini.tokens == Tokens(input=1000, output=50, reasoning=40)


def test_opencode_passes_on_when_to_come_back() -> None:
    events = read_all(parser_of("opencode-429.jsonl"), lines_of("opencode-429.jsonl"))
    assert [event.retry_after_s for event in events if isinstance(event, Trouble)] == [7]


def test_gemini_cut_in_its_stream_is_the_providers_fault() -> None:
    result = outcome("gemini-cut.jsonl", 1)
    assert result.reason == "server_error"
    (usage,) = usages("gemini-cut.jsonl")
    assert usage.tokens == Tokens(input=12346, output=22)


@pytest.mark.parametrize("odd", ["-5", "1.5", '"7"', "null", "9223372036854775808", "[]", "true"])
@pytest.mark.parametrize("kind", ["claude", "codex", "opencode", "gemini"])
def test_a_count_that_is_none_is_neither_negative_nor_huge(kind: str, odd: str) -> None:
    """Case 68."""
    names = (b'"input_tokens": ', b'"inputTokens": ', b'"input": ')
    lines = []
    for line in lines_of(f"{kind}-ok.jsonl"):
        for name in names:
            line = _with_value(line, name, odd.encode())
        lines.append(line)
    told = spent(read_all(parser_of(f"{kind}-ok.jsonl"), lines))
    assert min(told.input, told.cache_read, told.output) >= 0
    assert max(told.input, told.cache_read, told.output) < 10**6
    assert told.output == 33 or told.output == 43


def _with_value(line: bytes, name: bytes, value: bytes) -> bytes:
    head, found, rest = line.partition(name)
    if not found or not rest[:1].isdigit():
        return line
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    return head + name + value + _with_value(rest[digits:], name, value)


def test_more_cached_than_asked_is_nothing_fresh() -> None:
    """Case 68: cost below zero."""
    counts = b'{"input_tokens":100,"cached_input_tokens":84160,"output_tokens":1}'
    line = b'{"type":"turn.completed","usage":' + counts + b"}"
    (usage, _) = parser_of("codex-ok.jsonl").read(line) or ()
    assert isinstance(usage, Usage)
    assert usage.tokens == Tokens(input=0, cache_read=84160, output=1)


def test_an_agent_that_was_stopped_is_stopped_whatever_it_said() -> None:
    from batches.supervisor.record import Cause, ExitRecord

    evidence = Evidence(ended_ok=False, ended_text="error during execution")
    record = ExitRecord(cause=Cause.STOPPED, code=0)
    assert load("claude").outcome(record, b"", b"", evidence).kind == "stopped"


def test_a_stream_that_claude_gave_up_and_asked_for_again_is_charged_once() -> None:
    """Its delta has no reason for a stop, and the total leaves it out."""
    lines = lines_of("claude-ok.jsonl")
    given_up = [line.replace(b'"m1"', b'"m0"') for line in lines[1:6]]
    given_up[3] = given_up[3].replace(b'"tool_use"', b"null")
    again = [lines[0], *(line for line in given_up if b'"assistant"' not in line), *lines[1:]]
    events = read_all(parser_of("claude-ok.jsonl"), again)
    assert spent(events) == Tokens(input=36738, cache_read=22122, output=43)
