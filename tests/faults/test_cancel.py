"""A cancel that commits at the instant a task finishes, again and again."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from batches import lifecycle
from batches.context import RunContext
from batches.errors import InvalidState
from batches.jobs import execute_batch
from batches.models import Batch, Run
from batches.results import RunResult, completed
from tasks.events import types
from tasks.models import Event, Task, Workspace
from tests.factories import make_batch, make_task, make_workspace

pytestmark = [
    pytest.mark.faults,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
]
TIMES = 200
LATEST_S = 0.03


class _Race:
    """Three dependent tasks without agents; the cancel comes `delay_s` after the first one's end
    is known, so that over many rounds it meets every step of what follows."""

    def __init__(self, batch: Batch, delay_s: float) -> None:
        self._batch = batch
        self._delay_s = delay_s
        self._first_done = threading.Event()
        self.completed: set[str] = set()
        self.refused = False

    def run(self) -> None:
        cancel = threading.Thread(target=self._cancel)
        cancel.start()
        execute_batch(self._batch.id, attempt=self._attempt)
        cancel.join()

    def _attempt(self, context: RunContext) -> RunResult:
        self.completed.add(context.run.title)
        self._first_done.set()
        return completed()

    def _cancel(self) -> None:
        try:
            assert self._first_done.wait(30)
            threading.Event().wait(self._delay_s)
            lifecycle.cancel_batch(batch_id=self._batch.id)
        except InvalidState:
            self.refused = True
        finally:
            connection.close()


def test_no_task_starts_after_it_and_no_result_is_lost(
    tmp_path: Path, record_property: Callable[..., None]
) -> None:
    workspace = make_workspace(tmp_path)
    ends: dict[str, int] = {}
    for number in range(TIMES):
        first = make_task(workspace, "a")
        second = make_task(workspace, "b", after=[first])
        tasks = [first, second, make_task(workspace, "c", after=[second])]
        batch = make_batch(workspace, tasks, isolation="none")
        race = _Race(batch, LATEST_S * number / TIMES)
        race.run()
        _check(workspace, batch, race)
        how = f"{batch.status} with {batch.completed} completed"
        ends[how] = ends.get(how, 0) + 1
    record_property("ends", ends)
    assert ends.keys() >= {"CANCELLED with 1 completed"}, "no cancel met a running batch"


def _check(workspace: Workspace, batch: Batch, race: _Race) -> None:
    batch.refresh_from_db()
    assert batch.status == ("COMPLETED" if race.refused else "CANCELLED")
    runs = dict(Run.objects.filter(batch=batch).values_list("title", "status"))
    done = {title for title, status in runs.items() if status == "COMPLETED"}
    assert done == race.completed, "a result was lost"
    assert set(runs.values()) <= {"COMPLETED", "CANCELLED"}
    assert batch.completed == len(done)
    assert not Task.objects.filter(workspace=workspace, status="IN_PROGRESS").exists()
    events = list(Event.objects.filter(batch_id=batch.id).order_by("seq"))
    kinds = [event.type for event in events]
    assert sum(kind in types.FINAL_BATCH_EVENTS for kind in kinds) == 1
    if not race.refused:
        after = kinds[kinds.index(types.BATCH_STOPPING) :]
        assert types.RUN_STARTED not in after, "a task started after the cancel"
