"""What a run and a batch prove, and what is held back for want of proof."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from batches.models import Batch, GateRecord, Run
from tasks.models import Event, Workspace
from tests.batches.conducting import (
    event_types,
    last_run,
    on_branch,
    reasons,
    repository,
    run_batch,
    statuses,
    task_status,
)
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]
GOOD_TEST = "def test_it():\n    assert True\n"


def gated(tmp_path: Path, **changes: Any) -> Workspace:
    return make_workspace(tmp_path, gates_waived=False, **changes)


def with_gate(tmp_path: Path, command: str, **changes: Any) -> Workspace:
    return gated(tmp_path, gates=[{"name": "own", "argv": ["sh", "-c", command]}], **changes)


@pytest.fixture
def pytest_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host has one; the server's own environment is hidden from gates."""
    program = tmp_path / "tools" / "pytest"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def verified(batch: Batch) -> tuple[str, str, str]:
    return batch.status, batch.verification, batch.landing


def meet(workspace: Workspace, folder: Path, names: Sequence[str]) -> None:
    """Tasks that wait for each other, so that all work on the same base."""
    for name in names:
        make_task(
            workspace,
            name,
            f"touch {folder}/{name}",
            *(f"wait-file {folder}/{other}" for other in names),
            f"write {name}.txt x",
        )


def test_without_gates_a_run_completes_unverified_and_does_not_land(tmp_path: Path) -> None:
    """Fault 38: no gate at all was a pass."""
    workspace = gated(tmp_path)
    task = make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert verified(batch) == ("COMPLETED", "unverified", "held")
    assert "No gates found" in batch.verification_reason
    assert batch.branch in batch.landing_detail
    assert last_run(task).verification == "unverified"
    assert task_status(task) == "DONE"
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"
    assert on_branch(batch, "a.txt") == "done"


def test_gates_none_is_waived_by_who_said_so_and_lands(tmp_path: Path) -> None:
    workspace = with_gate(tmp_path, "exit 1")
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace, gates="none"))
    assert verified(batch) == ("COMPLETED", "waived", "landed")
    assert "by test" in batch.verification_reason
    assert not GateRecord.objects.exists()


def test_a_workspace_declared_without_gates_is_waived_and_lands(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert verified(batch) == ("COMPLETED", "waived", "landed")
    assert "workspace repo" in batch.verification_reason


def test_an_ignored_file_that_an_agent_left_proves_nothing(tmp_path: Path) -> None:
    workspace = with_gate(tmp_path, "test -e helper.tmp")
    make_task(workspace, "a", "write .gitignore *.tmp", "write helper.tmp 1", "write a.txt 1")
    batch = run_batch(make_batch(workspace))
    assert verified(batch) == ("PARTIAL", "failed", "")


def test_a_failed_gate_fails_the_run(tmp_path: Path) -> None:
    workspace = with_gate(tmp_path, "echo the tea is cold; exit 3")
    task = make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert (statuses(batch), reasons(batch)) == ({"a": "FAILED"}, {"a": "gate_failed"})
    assert batch.status == "FAILED"
    assert task_status(task) == "FAILED"
    record = GateRecord.objects.get()
    assert (record.name, record.outcome, record.exit_code) == ("own", "failed", 3)
    assert "the tea is cold" in record.output_tail
    assert Event.objects.filter(type="RUN_GATE", run_id=record.run_id).count() == 1


def test_an_attempt_after_a_failed_gate_is_told_what_it_said(tmp_path: Path) -> None:
    workspace = with_gate(tmp_path, "test -e good.txt || { echo the tea is cold; exit 1; }")
    make_task(
        workspace,
        "a",
        f"sh cp $CODEFRAME_PROMPT_FILE {tmp_path}/prompt-$CODEFRAME_ATTEMPT",
        "write a.txt x",
        "sh test $CODEFRAME_ATTEMPT = 1 || touch good.txt",
    )
    batch = run_batch(make_batch(workspace, max_retries=1))
    assert verified(batch) == ("COMPLETED", "passed", "landed")
    assert "the tea is cold" in (tmp_path / "prompt-2").read_text()


def test_a_gate_that_times_out_is_named(tmp_path: Path) -> None:
    """Fault 81: gates with an error made a batch PARTIAL and were not listed."""
    gate = {"name": "slow", "argv": ["sleep", "60"], "timeout_s": 0.2}
    workspace = gated(tmp_path, gates=[gate])
    task = make_task(workspace, "a")
    run_batch(make_batch(workspace))
    run = last_run(task)
    assert (run.reason, run.verification) == ("gate_failed", "failed")
    assert "slow: it did not end within 0.2 s" in run.verification_reason
    assert GateRecord.objects.get().outcome == "timed_out"


def test_what_a_gate_prints_may_be_any_bytes(tmp_path: Path) -> None:
    """Case 34: bytes that are not UTF-8 broke the reader; NUL breaks a database."""
    workspace = with_gate(tmp_path, r"printf 'a\000b\351\377'; exit 1")
    task = make_task(workspace, "a", "raw 61 00 e9 ff", "write a.txt x")
    batch = run_batch(make_batch(workspace))
    assert (batch.status, last_run(task).reason) == ("FAILED", "gate_failed")
    assert "b" in GateRecord.objects.get().output_tail


def test_a_missing_tool_is_no_pass(tmp_path: Path) -> None:
    """Case 74: a skipped gate counted as proof."""
    workspace = gated(tmp_path, gates=[{"name": "own", "argv": ["no-such-tool"]}])
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert verified(batch) == ("COMPLETED", "unverified", "held")
    assert "no-such-tool" in batch.verification_reason


@pytest.mark.usefixtures("pytest_on_path")
def test_no_test_collected_is_no_pass(tmp_path: Path) -> None:
    """Case 74: pytest 5."""
    workspace = gated(tmp_path, files={"pytest.ini": "[pytest]\n"})
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace))
    assert verified(batch) == ("COMPLETED", "unverified", "held")
    assert GateRecord.objects.get(run__isnull=False).outcome == "nothing_collected"


@pytest.mark.usefixtures("pytest_on_path")
def test_an_agent_that_deletes_the_tests_does_not_drop_the_gate(tmp_path: Path) -> None:
    workspace = gated(tmp_path, files={"tests/test_it.py": GOOD_TEST})
    task = make_task(workspace, "a", "delete tests", "write a.txt x")
    batch = run_batch(make_batch(workspace))
    assert last_run(task).expected_gates == ["pytest"]
    assert GateRecord.objects.filter(name="pytest", outcome="nothing_collected").exists()
    assert verified(batch) == ("COMPLETED", "unverified", "held")


def test_an_integrated_tree_that_fails_is_not_landed_although_each_run_passed(
    tmp_path: Path,
) -> None:
    workspace = with_gate(tmp_path, "test ! -e a.txt -o ! -e b.txt")
    meet(workspace, tmp_path, ["a", "b"])
    batch = run_batch(make_batch(workspace))
    assert statuses(batch) == {"a": "COMPLETED", "b": "COMPLETED"}
    assert set(Run.objects.values_list("verification", flat=True)) == {"passed"}
    assert verified(batch) == ("PARTIAL", "failed", "")
    assert batch.reason == "gate_failed"
    assert "own" in batch.message
    assert batch.gate_records.filter(run=None).get().outcome == "failed"
    assert git(repository(workspace), "log", "--format=%s", "main") == "first"
    assert event_types(batch)[-1] == "BATCH_PARTIAL"


def test_an_integrated_tree_that_differs_from_every_run_is_checked(tmp_path: Path) -> None:
    workspace = with_gate(tmp_path, "true")
    meet(workspace, tmp_path, ["a", "b"])
    batch = run_batch(make_batch(workspace))
    assert verified(batch) == ("COMPLETED", "passed", "landed")
    assert batch.gate_records.filter(run=None).count() == 1


def test_without_isolation_the_workspace_itself_is_checked(tmp_path: Path) -> None:
    workspace = with_gate(tmp_path, "test -e a.txt")
    make_task(workspace, "a")
    batch = run_batch(make_batch(workspace, isolation="none"))
    assert verified(batch) == ("COMPLETED", "passed", "")
    assert (repository(workspace) / "a.txt").exists()
