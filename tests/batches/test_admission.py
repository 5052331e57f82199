"""What becomes a batch, and what is refused before anything is written."""

import threading
import uuid
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from batches import lifecycle
from batches.admission import admit
from batches.errors import InvalidOptions, InvalidTasks, NothingToRun, WorkspaceBusy
from batches.models import Batch, Run
from tasks.errors import ValidationFailed
from tasks.models import Event, Task, TaskDependency, Workspace
from tasks.models.task import TaskStatus
from tasks.workspaces.registry import add_workspace
from tests.batches.conducting import run_batch, statuses, task_status
from tests.factories import make_batch, make_task, make_workspace, options
from tests.repos import git, make_repository

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def nothing_was_written() -> bool:
    return not Batch.objects.exists() and not Run.objects.exists() and not Event.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strategy", "bogus"),
        ("strategy", ""),
        ("on_failure", "sometimes"),
        ("isolation", "cloud"),
        ("land", "force"),
        ("max_parallel", 0),
        ("max_parallel", "4"),
        ("max_parallel", True),
        ("max_retries", -1),
        ("timeout_s", 10**12),
        ("stall_timeout_s", 0.5),
        ("gates", []),
        ("gates", "sometimes"),
    ],
)
def test_an_unknown_option_is_refused_by_name(name: str, value: object) -> None:
    """Fault 8: a strategy nobody knows was run as serial."""
    with pytest.raises(InvalidOptions, match=f"^{name}: ") as refused:
        options(**{name: value})
    assert list(refused.value.fields) == [name]


def test_auto_without_a_model_is_refused_instead_of_run_as_something_else() -> None:
    """Fault 12: `auto` fell back to serial, and could so run finished tasks again."""
    with pytest.raises(InvalidOptions, match="needs a model"):
        options(strategy="auto")


def test_an_unknown_gate_is_refused_before_an_agent_is_paid(workspace: Workspace) -> None:
    make_task(workspace)
    with pytest.raises(InvalidOptions, match="There is no gate 'mypi'"):
        make_batch(workspace, gates=["mypi"])
    assert nothing_was_written()


def test_a_missing_engine_is_refused(workspace: Workspace) -> None:
    """Case 6: set-up trouble shows before anything is RUNNING."""
    make_task(workspace)
    engine = {"kind": "command", "argv": ["no-such-program"], "pass_env": []}
    with pytest.raises(InvalidOptions, match="no-such-program is not on"):
        make_batch(workspace, engine_options=engine)
    assert nothing_was_written()


def test_every_option_is_recorded(workspace: Workspace) -> None:
    """Fault 83: on_failure, isolation and time-outs could not be chosen."""
    make_task(workspace)
    chosen: dict[str, Any] = {
        "strategy": "parallel",
        "max_parallel": 12,
        "on_failure": "stop",
        "max_retries": 3,
        "gates": "none",
        "timeout_s": 77,
        "stall_timeout_s": 55,
        "land": "branch",
    }
    batch = make_batch(workspace, **chosen)
    batch.refresh_from_db()
    assert {name: getattr(batch, name) for name in chosen} == chosen


def test_a_task_named_twice_runs_once(workspace: Workspace, tmp_path: Path) -> None:
    """Fault 76: a repeated id made the batch PARTIAL."""
    task = make_task(workspace, "a", f"count {tmp_path}/starts", "write a.txt a")
    batch = run_batch(make_batch(workspace, [task, task]))
    assert (batch.status, batch.total, batch.completed) == ("COMPLETED", 1, 1)
    assert len((tmp_path / "starts").read_text().splitlines()) == 1


def test_no_ids_at_all_is_not_everything(workspace: Workspace) -> None:
    """Fault 26: an empty list ran every READY task."""
    make_task(workspace)
    with pytest.raises(NothingToRun):
        make_batch(workspace, [])
    assert nothing_was_written()


def test_named_tasks_need_no_other_ready_one(workspace: Workspace) -> None:
    """Fault 25: explicit ids were refused unless some other task was READY."""
    task = make_task(workspace, status=TaskStatus.BACKLOG)
    make_batch(workspace, [task])
    assert task_status(task) == "READY"
    assert Event.objects.filter(type="TASK_STATUS", task_id=task.id).count() == 1


def test_unknown_ids_are_named(workspace: Workspace) -> None:
    """Fault 27: they were a server error."""
    unknown = uuid.uuid4()
    admission = admit(workspace=workspace, options=options(), task_ids=[unknown])
    with pytest.raises(InvalidTasks, match=str(unknown)):
        lifecycle.create_batch(admission=admission, origin="test", send=False)
    assert nothing_was_written()


def test_a_task_of_another_workspace_is_unknown_here(workspace: Workspace, tmp_path: Path) -> None:
    other = make_task(make_workspace(tmp_path, name="other"))
    with pytest.raises(InvalidTasks, match="no such task in this workspace"):
        make_batch(workspace, [other])


@pytest.mark.parametrize("status", ["DONE", "MERGED", "IN_PROGRESS", "BLOCKED"])
def test_a_task_that_cannot_start_is_refused_with_its_state(
    workspace: Workspace, status: str
) -> None:
    """Fault 84: starting a finished task was a server error."""
    task = make_task(workspace, "Sell tea", status=TaskStatus(status))
    with pytest.raises(InvalidTasks, match=r"cannot run: Sell tea (is|waits)"):
        make_batch(workspace, [task])
    assert nothing_was_written()
    assert task_status(task) == status


def test_composite_tasks_are_never_run(workspace: Workspace) -> None:
    """Fault 85: they were, and each failed."""
    parent = make_task(workspace, "Everything", is_leaf=False)
    part = make_task(workspace, "Part", parent=parent)
    with pytest.raises(InvalidTasks, match="Everything"):
        make_batch(workspace, [parent])
    batch = make_batch(workspace)
    assert list(batch.runs.values_list("task_id", flat=True)) == [part.id]


def test_a_dependency_outside_that_is_not_done_is_refused(workspace: Workspace) -> None:
    """Fault 3: edges that lead out of the batch were ignored."""
    base = make_task(workspace, "Base")
    task = make_task(workspace, "Top", after=[base])
    with pytest.raises(InvalidTasks, match="Top needs Base, which is READY"):
        make_batch(workspace, [task])
    assert nothing_was_written()


@pytest.mark.parametrize("status", [TaskStatus.DONE, TaskStatus.MERGED])
def test_a_finished_dependency_outside_is_met(workspace: Workspace, status: TaskStatus) -> None:
    base = make_task(workspace, "Base", status=status)
    task = make_task(workspace, "Top", after=[base])
    assert statuses(run_batch(make_batch(workspace, [task]))) == {"Top": "COMPLETED"}


def test_a_cycle_is_refused_with_its_path(workspace: Workspace) -> None:
    """Case 10: a cycle that is in the rows all the same hangs nothing."""
    a = make_task(workspace, "a")
    b = make_task(workspace, "b", after=[a])
    TaskDependency.objects.create(task=a, depends_on=b)
    with pytest.raises(InvalidTasks, match=r"a -> b -> a|b -> a -> b"):
        make_batch(workspace)
    assert nothing_was_written()


@pytest.mark.timeout(120)
def test_ten_thousand_tasks_in_a_chain_become_a_batch(workspace: Workspace) -> None:
    """Case 11: a chain of 1,000 was too deep. The worst order: each waits for the next."""
    chain = Task.objects.bulk_create(
        Task(workspace=workspace, title=f"task {n}", status=TaskStatus.READY) for n in range(10_000)
    )
    TaskDependency.objects.bulk_create(
        TaskDependency(task=task, depends_on=later) for task, later in pairwise(chain)
    )
    batch = make_batch(workspace)
    assert batch.total == 10_000
    assert Run.objects.filter(batch=batch).count() == 10_000


def test_a_repository_without_a_commit_is_refused(tmp_path: Path) -> None:
    """Case 36: `git init` and nothing more."""
    path = make_repository(tmp_path / "empty")
    with pytest.raises(ValidationFailed, match="no commit"):
        add_workspace(path=str(path))
    assert not Workspace.objects.exists()


def test_a_repository_that_lost_its_commits_is_refused(workspace: Workspace) -> None:
    """Case 36: registered in time, emptied later."""
    make_task(workspace)
    git(Path(workspace.repo_path), "checkout", "--quiet", "--orphan", "fresh")
    with pytest.raises(ValidationFailed, match="no commit"):
        make_batch(workspace)
    assert nothing_was_written()


def test_a_busy_workspace_is_refused_before_any_task_is_moved(workspace: Workspace) -> None:
    """Fault 24: the guard came after the tasks were READY."""
    first = make_batch(workspace, [make_task(workspace)])
    waiting = make_task(workspace, "later", status=TaskStatus.BACKLOG)
    before = Event.objects.count()
    with pytest.raises(WorkspaceBusy, match=first.short_id) as refused:
        make_batch(workspace, [waiting])
    assert refused.value.batch == first
    assert task_status(waiting) == "BACKLOG"
    assert Event.objects.count() == before


def test_another_workspace_is_not_busy(workspace: Workspace, tmp_path: Path) -> None:
    other = make_workspace(tmp_path, name="other")
    make_task(workspace)
    make_task(other)
    make_batch(workspace)
    make_batch(other)
    assert Batch.objects.count() == 2


def test_of_twenty_starts_at_once_one_wins(workspace: Workspace) -> None:
    """Fault 16, case 1: two clicks started two batches in one tree."""
    make_task(workspace, "a", status=TaskStatus.BACKLOG)
    admission = admit(
        workspace=workspace,
        options=options(),
        task_ids=list(Task.objects.values_list("id", flat=True)),
    )
    start = threading.Barrier(20)

    def create() -> str:
        start.wait()
        return lifecycle.create_batch(admission=admission, origin="test", send=False).short_id

    ended = in_threads(create, 20)
    won = [result for result in ended if isinstance(result, str)]
    lost = [result for result in ended if not isinstance(result, str)]
    assert len(won) == 1
    assert {type(error) for error in lost} == {WorkspaceBusy}
    assert all(won[0] in str(error) for error in lost)
    assert (Batch.objects.count(), Run.objects.count()) == (1, 1)
    created = Event.objects.filter(type="BATCH_CREATED")
    assert list(created.values_list("seq", flat=True)) == [1]


def in_threads(work: Callable[[], str], count: int) -> list[str | BaseException]:
    results: list[str | BaseException] = []

    def call() -> None:
        try:
            results.append(work())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
