"""A run's stages say where it failed, and its page where the reason is."""

from pathlib import Path

import pytest

from batches.models import Run
from batches.models.batch import StopMode
from batches.web.output.telling import telling_stream
from batches.web.remedies import remedy
from tasks.models import Task, Workspace
from tests.batches.conducting import conducting, last_run, run_batch, stop, wait_until
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def outcomes(run: Run) -> dict[str, str]:
    return dict(run.stages.values_list("name", "outcome"))


def done(workspace: Workspace, *directives: str) -> Run:
    task = make_task(workspace, "a", *directives)
    run_batch(make_batch(workspace))
    return last_run(task)


@pytest.mark.parametrize("directives", [("stderr boom", "exit 3"), ("print no change",)])
def test_an_agent_that_failed_is_not_shown_as_well(
    workspace: Workspace, directives: tuple[str, ...]
) -> None:
    run = done(workspace, *directives)
    assert run.status == "FAILED"
    assert outcomes(run) == {"tree": "ok", "agent": "failed", "capture": "ok"}
    assert run.stages.get(name="agent").detail == run.message


def test_an_agent_that_did_its_work_ended_well(workspace: Workspace) -> None:
    assert outcomes(done(workspace, "write a.txt x"))["agent"] == "ok"


def test_an_agent_that_was_stopped_is_shown_as_interrupted(workspace: Workspace) -> None:
    task = make_task(workspace, "a", "print started", "sleep 300")
    batch = make_batch(workspace)
    with conducting(batch):
        wait_until(lambda: last_output(task) == "started", "the agent is at work")
        stop(batch, StopMode.CANCEL)
    assert last_run(task).status == "CANCELLED"
    assert outcomes(last_run(task))["agent"] == "interrupted"


def last_output(task: Task) -> str:
    return Run.objects.filter(task=task).values_list("last_line", flat=True).get()


@pytest.mark.parametrize(
    ("directives", "stream"),
    [
        (("stderr boom at line 3", "exit 3"), "stderr"),
        (("print working on it", "stderr boom at line 3", "exit 3"), "stderr"),
        (("print boom at line 3", "exit 3"), "stdout"),
    ],
)
def test_the_page_of_a_failed_run_opens_where_the_reason_is(
    workspace: Workspace, directives: tuple[str, ...], stream: str
) -> None:
    run = done(workspace, *directives)
    assert "boom at line 3" in run.message
    assert telling_stream(run) == stream
    advice = remedy(run, may_operate=True)
    assert advice
    assert (advice.see, advice.stream) == ("output", stream)


def test_a_run_that_went_well_opens_on_its_output_whatever_it_warned_of(
    workspace: Workspace,
) -> None:
    assert telling_stream(done(workspace, "stderr a warning", "write a.txt x")) == "stdout"


def test_the_last_line_has_no_escapes_of_a_terminal(workspace: Workspace) -> None:
    red = b"\x1b[31mred\x1b[0m and \x1b]0;title\x07plain\r\n\x1b[0m\n"
    assert done(workspace, f"raw {red.hex()}", "write a.txt x").last_line == "red and plain"
