import pytest

from batches.gates.outcomes import GateOutcome, GateResult, summarize


def result(outcome, name="gate"):
    return GateResult(name=name, outcome=GateOutcome(outcome), summary=f"it was {outcome}")


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("passed", "passed"),
        ("failed", "failed"),
        ("timed_out", "failed"),
        ("error", "failed"),
        ("nothing_collected", "unverified"),
        ("tool_missing", "unverified"),
        ("cancelled", "unverified"),
    ],
)
def test_one_gate_beside_a_passed_one_decides(outcome, state):
    both = summarize([result("passed", "ruff"), result(outcome, "pytest")])
    assert both.state == state
    assert f"pytest: it was {outcome}" in both.reason


def test_every_outcome_is_weighed():
    states = {outcome: summarize([result(outcome)]).state for outcome in GateOutcome}
    assert [outcome for outcome, state in states.items() if state == "passed"] == ["passed"]


def test_a_failure_outweighs_everything_else():
    others = [result(outcome) for outcome in GateOutcome if outcome != "failed"]
    verification = summarize([*others[:4], result("failed", "unit"), *others[4:]])
    assert verification.state == "failed"
    assert "unit" in verification.reason


def test_no_gates_prove_nothing():
    verification = summarize([])
    assert (verification.state, verification.reason) == ("unverified", "No gates found.")


def test_gates_that_were_waived_say_by_whom():
    verification = summarize([], waived_by="ana")
    assert verification.state == "waived"
    assert "ana" in verification.reason


def test_a_waiver_does_not_cover_a_gate_that_ran():
    assert summarize([result("failed")], waived_by="ana").state == "failed"
