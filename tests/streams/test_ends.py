"""The end is told, whenever one came: before, after, and at the instant itself."""

import asyncio
import random
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from batches.models import Batch, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from codeframe_site.streams import SiteDoor
from codeframe_site.tokens import make_token
from tasks.events.admission import Asked
from tasks.events.frames import Frame
from tasks.events.hub import Hub
from tasks.events.log import NewEvent, record
from tasks.events.stream import Stream
from tasks.models import Task, Workspace
from tests.codeframe_site.rows import batch_row
from tests.codeframe_site.server_process import Web
from tests.streams.client import CLIENTS
from tests.streams.reading import seqs, until, until_seq, words
from tests.streams.writing import commit

pytestmark = pytest.mark.django_db(transaction=True)
both = pytest.mark.parametrize("transport", CLIENTS)
TIMES, AT_ONCE = 1000, 20


def end(batch: Batch, status: BatchStatus = BatchStatus.COMPLETED) -> None:
    """Status and event together, as the product does it."""
    with transaction.atomic():
        Batch.objects.filter(id=batch.id).update(status=status, finished_at=timezone.now())
        events = [NewEvent(type=f"BATCH_{status}", batch_id=batch.id)]
        record(workspace_id=batch.workspace_id, events=events)


def resume(batch: Batch) -> None:
    with transaction.atomic():
        Batch.objects.filter(id=batch.id).update(status=BatchStatus.PENDING, finished_at=None)
        events = [NewEvent(type="BATCH_RESUMED", batch_id=batch.id)]
        record(workspace_id=batch.workspace_id, events=events)


@both
def test_the_end_comes_last_and_closes(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    batch = batch_row(shop, BatchStatus.RUNNING)
    with CLIENTS[transport](server.port, f"batches/{batch.id}", headers, after=0) as client:
        frames = iter(client)
        until(frames, "live")
        commit(shop, 3, batch_id=batch.id)
        end(batch, BatchStatus.PARTIAL)
        seen = list(frames)
    assert (seqs(seen), words(seen), seen[-1]["status"]) == ([1, 2, 3, 4], ["end"], "PARTIAL")
    assert seen[-1]["cursor"] == 4
    assert client.code == (1000 if transport == "ws" else 0)


@both
@pytest.mark.parametrize("after", [{}, {"after": 0}, {"after": 2}])
def test_what_is_over_ends_at_once(
    transport: str,
    after: dict[str, int],
    server: Web,
    shop: Workspace,
    headers: dict[str, str],
) -> None:
    """Fault 34: such a client was given heartbeats for ever."""
    batch = batch_row(shop, BatchStatus.RUNNING)
    commit(shop, batch_id=batch.id)
    end(batch)
    with CLIENTS[transport](server.port, f"batches/{batch.id}", headers, **after) as client:
        seen = list(client)
    assert words(seen) == ["hello", "live", "end"]
    assert seqs(seen) == ([1, 2] if after.get("after") == 0 else [])


@both
@pytest.mark.parametrize("status", [s for s in RunStatus if s not in ("QUEUED", "RUNNING")])
def test_a_run_ends_however_it_ended(
    transport: str, status: RunStatus, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    """Faults 35 and 91: blocked ones hung, failed ones ended without a word."""
    run = Run.objects.create(batch=batch_row(shop), title="x", position=0, status=RunStatus.RUNNING)
    with CLIENTS[transport](server.port, f"runs/{run.id}", headers, after=0) as client:
        frames = iter(client)
        until(frames, "live")
        with transaction.atomic():
            Run.objects.filter(id=run.id).update(status=status, finished_at=timezone.now())
            events = [
                NewEvent(type=f"RUN_{status}", run_id=run.id),
                NewEvent(type="BLOCKER_CREATED", run_id=run.id),
            ]
            record(workspace_id=shop.id, events=events)
        seen = list(frames)
    assert (seqs(seen), seen[-1]["type"], seen[-1]["status"]) == ([1, 2], "end", status)
    with CLIENTS[transport](server.port, f"runs/{run.id}", headers) as client:
        assert words(client) == ["hello", "live", "end"]


@both
def test_a_task_goes_on_through_a_retry(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    task = Task.objects.create(workspace=shop, title="x")
    run = Run.objects.create(
        batch=batch_row(shop), task=task, title="x", position=0, status=RunStatus.RUNNING
    )
    what = {"task_id": task.id, "run_id": run.id}
    client = CLIENTS[transport](server.port, f"tasks/{task.id}", headers)
    with client:
        frames = iter(client)
        until(frames, "live")
        with transaction.atomic():
            events = [NewEvent(type="RUN_FAILED", **what), NewEvent(type="RUN_RETRY", **what)]
            record(workspace_id=shop.id, events=events)
        assert seqs(until_seq(frames, 2)) == [1, 2]
        commit(shop, type="RUN_STARTED", **what)
        commit(shop, type="RUN_COMPLETED", **what)
        seen = list(frames)
    assert (seen[-1]["type"], seen[-1]["status"]) == ("end", "COMPLETED")


@both
def test_a_round_that_was_followed_by_another_is_no_end(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    batch = batch_row(shop, BatchStatus.RUNNING)
    end(batch, BatchStatus.FAILED)
    resume(batch)
    with CLIENTS[transport](server.port, f"batches/{batch.id}", headers, after=0) as client:
        frames = iter(client)
        assert words(until(frames, "live")) == ["hello", "live"]
        end(batch)
        seen = list(frames)
    assert (seqs(seen), seen[-1]["status"]) == ([3], "COMPLETED")


def test_a_workspace_has_no_end(server: Web, shop: Workspace, headers: dict[str, str]) -> None:
    batch = batch_row(shop, BatchStatus.RUNNING)
    with CLIENTS["ws"](server.port, f"workspaces/{shop.id}", headers) as client:
        frames = iter(client)
        until(frames, "live")
        end(batch)
        assert words(until(frames, "events")) == []
        commit(shop)
        assert seqs(until(frames, "events")) == [2]


@both
def test_a_socket_opened_at_the_instant_of_the_end_is_told(
    transport: str, server: Web, shop: Workspace, headers: dict[str, str]
) -> None:
    for _ in range(25):
        batch = batch_row(shop, BatchStatus.RUNNING)
        with (
            _ending(batch),
            CLIENTS[transport](server.port, f"batches/{batch.id}", headers) as client,
        ):
            assert words(client)[-1] == "end"


class _ending:
    """The batch ends beside the block, somewhere in the first milliseconds of it."""

    def __init__(self, batch: Batch) -> None:
        self._thread = threading.Timer(random.random() * 0.01, self._end)
        self._batch = batch

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exc: object) -> None:
        self._thread.join()

    def _end(self) -> None:
        end(self._batch)
        connection.close()


class Heard:
    """A sink that keeps the words."""

    full = False

    def __init__(self) -> None:
        self.words: list[str] = []
        self.seqs: list[int] = []

    async def frame(self, frame: Frame) -> None:
        self.seqs += [line.seq for line in frame.lines]

    async def word(self, name: str, cursor: int, **more: Any) -> None:
        self.words.append(name)


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(most=10_000, most_per_user=10_000)
    yield made
    made.close()


def test_of_a_thousand_that_subscribe_at_the_instant_of_the_end_each_is_told(
    hub: Hub, shop: Workspace, ada: User
) -> None:
    """Case 52: an end between the look and the subscription was lost, and only heartbeats came.

    Each of fifty batches ends while twenty streams are being opened.
    """
    _, key = make_token(user=ada, name="test")
    heard = asyncio.run(_all_rounds(hub, shop, key))
    assert len(heard) == TIMES
    assert {sink.words[-1] for sink in heard} == {"end"}
    # The test meets both sides of the instant: the end was seen as an event, and as a state.
    assert {len(sink.seqs) for sink in heard} == {0, 1}


async def _all_rounds(hub: Hub, shop: Workspace, key: str) -> list[Heard]:
    heard: list[Heard] = []
    for _ in range(TIMES // AT_ONCE):
        batch = await asyncio.to_thread(_begin, shop)
        streams = [_one(hub, batch.id, key, delay=n / 2000) for n in range(AT_ONCE)]
        ending = asyncio.get_running_loop().run_in_executor(None, _end_and_close, batch)
        heard += await asyncio.wait_for(asyncio.gather(*streams), 30)
        await ending
    return heard


def _begin(shop: Workspace) -> Batch:
    batch = batch_row(shop, BatchStatus.RUNNING)
    connection.close()
    return batch


def _end_and_close(batch: Batch) -> None:
    end(batch)
    connection.close()


async def _one(hub: Hub, batch_id: UUID, key: str, *, delay: float) -> Heard:
    await asyncio.sleep(delay)
    asked = Asked(
        kind="batch",
        id=batch_id,
        headers={"host": "localhost", "authorization": f"Bearer {key}"},
        query={},
    )
    door, sink = SiteDoor(), Heard()
    admission = await asyncio.wrap_future(hub.readers.submit(lambda: door.admit(asked)))
    assert await Stream(admission, sink, hub, door.lost).serve() == 1000
    return sink
