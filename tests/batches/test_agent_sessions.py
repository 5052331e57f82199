"""Questions, answers and corrections: an agent goes on in its session, with its files."""

from pathlib import Path

import pytest

from batches.answering import send_on
from batches.models import Batch
from tasks.blockers import answer_blocker
from tasks.models import Blocker, Task, Workspace
from tests.batches.claude import OK, of_claude
from tests.batches.conducting import kept, last_run, on_branch, run_batch
from tests.batches.engines.reading import lines_of
from tests.factories import make_task, make_workspace
from tests.fakes.program import Program

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def ask(workspace: Workspace, claude: Program) -> tuple[Task, Batch]:
    lines = lines_of(OK)
    claude.script(
        "write begun.txt half",
        claude.says(lines[:6]),
        'sh "echo Green or black? > $CODEFRAME_QUESTION_FILE"',
        claude.says(lines[6:]),
    )
    claude.script("write tea.txt green", claude.says(lines), attempt=2)
    task = make_task(workspace, "a")
    batch = run_batch(of_claude(workspace))
    return task, batch


def test_a_question_waits_for_a_person_in_the_agents_own_words(
    workspace: Workspace, claude: Program
) -> None:
    task, batch = ask(workspace, claude)
    run = last_run(task)
    assert (run.status, run.reason) == ("BLOCKED", "question")
    blocker = Blocker.objects.get(task=task)
    assert (blocker.question, blocker.reason) == ("Green or black?", "question")
    assert kept(run, "begun.txt") == "half"
    assert batch.status == "FAILED"


def test_an_answer_goes_on_in_the_same_session_with_the_same_files(
    workspace: Workspace, claude: Program
) -> None:
    task, batch = ask(workspace, claude)
    first = last_run(task)
    blocker = answer_blocker(blocker=Blocker.objects.get(task=task), answer="Green.", by="ann")
    assert send_on(blocker=blocker, by="ann").batch == batch
    run_batch(batch)
    run = last_run(task)
    assert (batch.status, run.continues, run.session_home) == ("COMPLETED", first.id, first.id)
    before, after = claude.calls()
    assert after["argv"][after["argv"].index("--resume") + 1] == first.session_id
    assert after["env"]["HOME"] == before["env"]["HOME"]
    assert "begun.txt" in after["files"]
    assert "You asked: Green or black?\nThe answer: Green." in after["prompt"]
    assert on_branch(batch, "begun.txt") == "half"
    assert on_branch(batch, "tea.txt") == "green"


def test_a_gate_that_fails_goes_back_to_the_same_session(tmp_path: Path, claude: Program) -> None:
    gate = {"name": "own", "argv": ["sh", "-c", "test -e tea.txt"]}
    workspace = make_workspace(tmp_path, gates_waived=False, gates=[gate])
    claude.script("write wrong.txt x", claude.says(lines_of(OK)))
    claude.script("write tea.txt green", claude.says(lines_of(OK)), attempt=2)
    make_task(workspace, "a")
    batch = run_batch(of_claude(workspace, max_retries=1))
    _, second = claude.calls()
    assert "--resume" in second["argv"]
    assert "wrong.txt" in second["files"]
    assert "Gate own" in second["prompt"]
    assert (batch.status, batch.verification) == ("COMPLETED", "passed")


def test_work_that_no_longer_fits_is_begun_anew(
    workspace: Workspace, claude: Program, tmp_path: Path
) -> None:
    """Another task of the batch has changed the same file since."""
    claude.script(
        f'sh "mkdir {tmp_path}/first && echo Which? > $CODEFRAME_QUESTION_FILE; true"',
        'sh "echo $CODEFRAME_TASK_ID > same.txt"',
        claude.says(lines_of(OK)),
    )
    claude.script("write other.txt x", claude.says(lines_of(OK)), attempt=2)
    asks = make_task(workspace, "asks", priority=0)
    make_task(workspace, "does", priority=1)
    batch = run_batch(of_claude(workspace, max_parallel=1))
    assert (batch.status, last_run(asks).reason) == ("PARTIAL", "question")
    blocker = answer_blocker(blocker=Blocker.objects.get(), answer="x", by="ann")
    send_on(blocker=blocker, by="ann")
    run_batch(batch)
    assert (batch.status, last_run(asks).continues) == ("COMPLETED", None)
    last = claude.calls()[-1]
    assert "--resume" not in last["argv"]
    assert "Question: Which?" in last["prompt"]


def test_a_session_that_is_gone_is_begun_anew(workspace: Workspace, claude: Program) -> None:
    task, batch = ask(workspace, claude)
    for kept_file in Path(claude.calls()[0]["env"]["CLAUDE_CONFIG_DIR"]).rglob("*.jsonl"):
        kept_file.unlink()
    blocker = answer_blocker(blocker=Blocker.objects.get(task=task), answer="Green.", by="ann")
    send_on(blocker=blocker, by="ann")
    run_batch(batch)
    assert (batch.status, last_run(task).continues) == ("COMPLETED", None)
    assert "--resume" not in claude.calls()[-1]["argv"]
    assert "Answer: Green." in claude.calls()[-1]["prompt"]
