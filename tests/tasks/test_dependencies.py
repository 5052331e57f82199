"""Dependencies of tasks: set, refused, and what becomes of them when a task goes."""

import threading
import uuid
from pathlib import Path

import pytest
from django.db import connection

from batches import lifecycle
from batches.deletion import delete_task
from batches.models import Run
from tasks.errors import Conflict, NotFound, ValidationFailed
from tasks.models import Event, Task, TaskDependency, Workspace
from tasks.models.task import TaskStatus
from tasks.planning.importing import TaskDraft
from tasks.registry import create_task, set_dependencies
from tests.batches.conducting import event_types, run_batch, statuses
from tests.factories import make_batch, make_task, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def edges() -> set[tuple[str, str]]:
    return set(TaskDependency.objects.values_list("task__title", "depends_on__title"))


def test_a_task_is_created_with_its_dependencies_and_an_event(workspace: Workspace) -> None:
    """Fault 88: there was no way to create one, nor to edit its dependencies."""
    a = make_task(workspace, "a")
    b = create_task(workspace=workspace, draft=TaskDraft(title="b", line=0), depends_on=[a.id])
    assert edges() == {("b", "a")}
    types = Event.objects.filter(task_id=b.id).order_by("seq").values_list("type", flat=True)
    assert list(types) == ["TASK_CREATED", "TASK_UPDATED"]


def test_a_task_that_depends_on_itself_is_refused(workspace: Workspace) -> None:
    """Case 10: it hung the program."""
    a = make_task(workspace, "a")
    with pytest.raises(ValidationFailed, match="a would depend on itself"):
        set_dependencies(task=a, depends_on=[a.id])
    assert edges() == set()
    assert not Event.objects.exists()


def test_an_edge_that_closes_a_cycle_is_refused_with_its_path(workspace: Workspace) -> None:
    """Fault 18: a cycle could be saved."""
    a, b, c = (make_task(workspace, title) for title in "abc")
    set_dependencies(task=b, depends_on=[a.id])
    set_dependencies(task=c, depends_on=[b.id])
    with pytest.raises(ValidationFailed, match=r"cycle: .*a"):
        set_dependencies(task=a, depends_on=[c.id])
    assert edges() == {("b", "a"), ("c", "b")}


def test_of_two_edges_that_make_a_cycle_together_one_is_refused(workspace: Workspace) -> None:
    """Case 10: two changes at once, each harmless alone."""
    a, b = make_task(workspace, "a"), make_task(workspace, "b")
    start = threading.Barrier(2)
    refused: list[Exception] = []

    def depend(task: Task, other: Task) -> None:
        start.wait()
        try:
            set_dependencies(task=task, depends_on=[other.id])
        except ValidationFailed as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=depend, args=pair) for pair in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert TaskDependency.objects.count() == 1


def test_edges_that_a_model_proposed_are_kept_apart(workspace: Workspace) -> None:
    """Regression: inferred edges wiped the manual ones, and the other way round."""
    a, b, c = (make_task(workspace, title) for title in "abc")
    model = TaskDependency.Origin.MODEL
    TaskDependency.objects.create(task=c, depends_on=a, origin=model)
    set_dependencies(task=c, depends_on=[b.id])
    set_dependencies(task=c, depends_on=[])
    set_dependencies(task=c, depends_on=[b.id, a.id])
    rows = TaskDependency.objects.order_by("depends_on__title")
    assert list(rows.values_list("depends_on__title", "origin")) == [("a", model), ("b", "manual")]


def test_an_unknown_dependency_is_refused_and_nothing_changes(
    workspace: Workspace, tmp_path: Path
) -> None:
    a, b = make_task(workspace, "a"), make_task(workspace, "b")
    set_dependencies(task=b, depends_on=[a.id])
    foreign = make_task(make_workspace(tmp_path, name="other"), "foreign")
    for other in (uuid.uuid4(), foreign.id):
        with pytest.raises(NotFound, match=str(other)):
            set_dependencies(task=b, depends_on=[other])
    assert edges() == {("b", "a")}


def test_two_hundred_dependents_are_all_seen(workspace: Workspace) -> None:
    """Fault 19: those beyond the first hundred were missed."""
    base = make_task(workspace, "base", "exit 1")
    for n in range(200):
        make_task(workspace, f"t{n}", after=[base])
    batch = run_batch(make_batch(workspace))
    assert (batch.failed, batch.skipped) == (1, 200)
    assert list(statuses(batch).values()).count("SKIPPED") == 200
    assert len(event_types(batch, prefix="RUN_SKIPPED")) == 200


def test_a_deleted_task_strands_no_dependents(workspace: Workspace) -> None:
    """Regression: its dependents waited for ever."""
    a = make_task(workspace, "a")
    make_task(workspace, "b", after=[a])
    delete_task(task=a)
    assert edges() == set()
    assert Event.objects.get(type="TASK_DELETED").payload == {"title": "a"}
    assert statuses(run_batch(make_batch(workspace))) == {"b": "COMPLETED"}


def test_a_task_that_a_batch_needs_is_not_deleted(workspace: Workspace) -> None:
    """Fault 87: it was, and the batch kept the dead id."""
    task = make_task(workspace, "a")
    batch = make_batch(workspace)
    with pytest.raises(Conflict, match=batch.short_id):
        delete_task(task=task)
    assert Task.objects.filter(id=task.id).exists()
    lifecycle.cancel_batch(batch_id=batch.id)
    delete_task(task=task)
    run = Run.objects.get()
    assert (run.task_id, run.title) == (None, "a")


def test_the_order_of_ready_tasks_is_priority_then_age(workspace: Workspace) -> None:
    for title, priority in {"c": 5, "a": 0, "b": 0}.items():
        make_task(workspace, title, priority=priority, status=TaskStatus.READY)
    assert list(Task.objects.values_list("title", flat=True)) == ["a", "b", "c"]
