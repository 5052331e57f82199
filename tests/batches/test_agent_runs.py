"""Agents that tell what they do, what they use and what they want to know, seen from the batch."""

import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from batches.errors import InvalidOptions
from batches.models import Finding, Run
from costs.models import PriceOverride, Usage
from tasks.models import Event, Workspace
from tests.architecture.pages import undocumented_keys
from tests.batches.claude import OK, of_claude
from tests.batches.conducting import (
    conducting,
    last_run,
    run_batch,
    wait_until,
)
from tests.batches.engines.reading import lines_of
from tests.factories import make_batch, make_task, make_workspace
from tests.fakes import AGENT
from tests.fakes.program import Program

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
OK_USD = Decimal("0.1174956")
"""36738 fresh at 3, 22122 cached at 0.3 and 43 out at 15 dollars a million."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def spent(run: Run) -> tuple[int, int, int, int, Decimal]:
    rows = Usage.objects.filter(run_id=run.id)
    assert not rows.filter(estimated=True).exists()
    return (
        sum(row.input_tokens for row in rows),
        sum(row.cache_read_tokens for row in rows),
        sum(row.output_tokens for row in rows),
        sum(row.calls for row in rows),
        sum((row.cost_usd or Decimal(0) for row in rows), Decimal(0)),
    )


def events_of(run: Run, type: str) -> list[Event]:
    return list(Event.objects.filter(run_id=run.id, type=type).order_by("seq"))


def test_a_run_is_told_in_words_and_charged_to_the_cent(
    workspace: Workspace, claude: Program
) -> None:
    claude.script("write tea.txt green", claude.says(lines_of(OK)))
    task = make_task(workspace, "a")
    batch = run_batch(of_claude(workspace))
    run = last_run(task)
    assert (batch.status, run.session_id[:8]) == ("COMPLETED", "5b1d0c1e")
    assert spent(run) == (36738, 22122, 43, 2, OK_USD)
    reported = Usage.objects.get(run_id=run.id, calls=0)
    assert (reported.reported_usd, reported.cost_usd) == (OK_USD, Decimal(0))
    first = Usage.objects.get(run_id=run.id, call_id="m1")
    assert (first.price_source, first.price_version != "") == ("genai-prices", True)
    (output,) = events_of(run, "RUN_OUTPUT")
    assert (
        "I write the file.\nWrite: tea.txt\ncreate /tree/tea.txt\nAll done.\n"
        in (output.payload["text"])
    )
    kinds = [item["kind"] for item in output.payload["items"]]
    assert kinds == ["session", "message", "tool_call", "file_change", "message"]
    (used,) = events_of(run, "RUN_USAGE")
    assert Decimal(used.payload["cost_usd"]) == OK_USD
    assert run.last_line == "All done."
    for event in (output, used):
        assert undocumented_keys(event) == set()


def test_the_program_gets_a_home_of_its_own_and_one_key(
    workspace: Workspace, claude: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")
    claude.script("write tea.txt green", claude.says(lines_of(OK)))
    task = make_task(workspace, "a")
    run_batch(of_claude(workspace))
    (call,) = claude.calls()
    assert call["env"]["ANTHROPIC_API_KEY"] == "sk-only-for-tests"
    assert "OPENAI_API_KEY" not in call["env"]
    assert last_run(task).id.hex in call["env"]["HOME"]
    assert call["env"]["HOME"] in call["env"]["CLAUDE_CONFIG_DIR"]
    assert call["argv"][call["argv"].index("--model") + 1] == "claude-sonnet-4-5"
    assert "# a" in call["prompt"]
    assert "# a" not in " ".join(call["argv"])


def test_an_agent_that_another_worker_adopts_is_charged_once(
    workspace: Workspace, claude: Program, tmp_path: Path
) -> None:
    lines, go = lines_of(OK), tmp_path / "go"
    claude.script(
        "write tea.txt green",
        claude.says(lines[:6]),
        f"wait-file {go}",
        claude.says(lines[6:]),
    )
    task = make_task(workspace, "a")
    batch = of_claude(workspace)
    leave = threading.Event()
    with conducting(batch, leave=leave):
        wait_until(lambda: Usage.objects.filter(call_id="m1").exists(), "the first call")
        leave.set()
    go.touch()
    run_batch(batch)
    assert batch.status == "COMPLETED"
    assert spent(last_run(task)) == (36738, 22122, 43, 2, OK_USD)
    told = [text for e in events_of(last_run(task), "RUN_OUTPUT") for text in [e.payload["text"]]]
    assert "".join(told).count("I write the file.") == 1


def test_an_agent_that_ended_while_nobody_looked_is_charged_once(
    workspace: Workspace, claude: Program, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    claude.script(f"touch {began}", "sleep 0.5", "write tea.txt green", claude.says(lines_of(OK)))
    task = make_task(workspace, "a")
    batch = of_claude(workspace)
    leave = threading.Event()
    with conducting(batch, leave=leave):
        wait_until(began.exists)
        leave.set()
    run_batch(batch)
    assert spent(last_run(task)) == (36738, 22122, 43, 2, OK_USD)


def test_a_killed_agent_is_charged_for_what_it_had_asked(
    workspace: Workspace, claude: Program
) -> None:
    claude.script(claude.says(lines_of(OK)[:8]), "crash")
    task = make_task(workspace, "a")
    run_batch(of_claude(workspace))
    rows = Usage.objects.filter(run_id=last_run(task).id)
    assert sum(row.input_tokens for row in rows) == 36738
    assert [row.estimated for row in rows.order_by("call_id")] == [False, True]


def test_what_was_not_allowed_is_shown(workspace: Workspace, claude: Program) -> None:
    claude.script(claude.says(lines_of("claude-denied.jsonl")))
    task = make_task(workspace, "a", "print looked")
    run_batch(of_claude(workspace))
    run = last_run(task)
    assert (run.status, run.reason) == ("FAILED", "refused_permission")
    (finding,) = Finding.objects.filter(run=run)
    assert (finding.rule, finding.severity) == ("permission_denied", "warn")
    assert "Write: tea.txt" in finding.message
    (event,) = events_of(run, "RUN_DENIED")
    assert undocumented_keys(event) == set()


def test_denials_survive_the_vetting_of_what_was_changed(
    workspace: Workspace, claude: Program
) -> None:
    claude.script(
        "write tea.txt x",
        'sh "ln -s /etc/passwd out"',
        claude.says(lines_of("claude-denied.jsonl")),
    )
    task = make_task(workspace, "a")
    run_batch(of_claude(workspace))
    rules = set(Finding.objects.filter(run=last_run(task)).values_list("rule", flat=True))
    assert "permission_denied" in rules
    assert len(rules) > 1


def test_a_providers_limit_spends_no_attempt(workspace: Workspace, claude: Program) -> None:
    claude.script(claude.says(lines_of("claude-429.jsonl")), "exit 1")
    claude.script("write tea.txt x", claude.says(lines_of(OK)), attempt=2)
    task = make_task(workspace, "a")
    batch = run_batch(of_claude(workspace, max_retries=0))
    assert batch.status == "COMPLETED"
    first = Run.objects.get(task=task, attempt=1)
    assert first.reason == "rate_limited"


def test_wrong_credentials_are_not_tried_again(workspace: Workspace, claude: Program) -> None:
    claude.script(claude.says(lines_of("claude-401.jsonl")), "exit 1")
    task = make_task(workspace, "a")
    run_batch(of_claude(workspace, max_retries=3))
    assert (last_run(task).attempt, last_run(task).reason) == (1, "auth")


def test_an_unknown_model_is_unpriced_until_the_agent_says_its_own_figure(
    workspace: Workspace, claude: Program
) -> None:
    lines = [line.replace(b"claude-sonnet-4-5", b"house-model-1") for line in lines_of(OK)]
    claude.script("write tea.txt x", claude.says(lines))
    task = make_task(workspace, "a")
    run_batch(of_claude(workspace, model="house-model-1"))
    assert spent(last_run(task))[-1] == OK_USD
    assert not Usage.objects.filter(cost_usd=None).exists()
    claude.script("write tea.txt y", claude.says(lines[:-1]), attempt=1)
    other = make_task(workspace, "b")
    run_batch(of_claude(workspace, model="house-model-1"))
    rows = Usage.objects.filter(run_id=last_run(other).id)
    assert [row.cost_usd for row in rows] == [None, None]


def test_a_price_of_ones_own_comes_first(workspace: Workspace, claude: Program) -> None:
    since = datetime(2020, 1, 1, tzinfo=UTC)
    prices = {"input_usd": "1", "cache_read_usd": "0", "output_usd": "0"}
    PriceOverride.objects.create(model="claude-sonnet-4-5", valid_from=since, **prices)
    claude.script("write tea.txt x", claude.says(lines_of(OK)))
    task = make_task(workspace, "a")
    run_batch(of_claude(workspace))
    assert spent(last_run(task))[-1] == Decimal("0.036738")
    assert Usage.objects.get(call_id="m1").price_source == "override"


def test_any_program_can_tell_its_tokens(workspace: Workspace) -> None:
    usage = {"input": "usage.in", "output": "usage.out", "model": "model"}
    options = {"kind": "command", "argv": AGENT, "pass_env": [], "usage": usage}
    line = '{"usage": {"in": 1000000, "out": 2}, "model": "gpt-5"}'
    task = make_task(workspace, "a", f"print '{line}'", "print hello", "write a.txt x")
    run_batch(make_batch(workspace, engine_options=options))
    run = last_run(task)
    (row,) = Usage.objects.filter(run_id=run.id)
    assert (row.input_tokens, row.output_tokens, row.cost_usd) == (
        1000000,
        2,
        Decimal("1.2500200000"),
    )
    (output,) = events_of(run, "RUN_OUTPUT")
    assert output.payload["text"].endswith("hello\n")
    assert output.payload["offset"] == 0


def test_an_agent_that_is_not_logged_in_is_refused_before_anything_starts(
    workspace: Workspace, claude: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    for name in ("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    make_task(workspace, "a")
    with pytest.raises(InvalidOptions, match="not logged in"):
        of_claude(workspace)
