"""One active batch per workspace, whoever asks: two web processes and the command line at once."""

import http.client
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from batches import lifecycle
from batches.admission import admit
from batches.errors import WorkspaceBusy
from batches.models import Batch, CommandEngine
from batches.models.batch import ACTIVE
from codeframe_site.models import Scope
from codeframe_site.tokens import make_token
from tasks.models import Workspace
from tests.codeframe_site.server_process import Web, manage, web
from tests.factories import make_task, make_workspace, options
from tests.fakes import AGENT
from tests.faults.world import database_url

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900), pytest.mark.django_db(transaction=True)]

ROUNDS = 100
CALLERS = 50
COMMANDS_EVERY = 20
"""Rounds in which the real `runbatch --detach` races too: it takes half a second to start."""


class Caller:
    """A kept-alive connection that waits for the round, then asks."""

    def __init__(self, server: Web, key: str, workspace: Workspace) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self._path = f"/api/v2/tasks/execute?workspace={workspace.id}"
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def __call__(self) -> tuple[int, str]:
        self._connection.request("POST", self._path, b"{}", self._headers)
        response = self._connection.getresponse()
        body = json.loads(response.read())
        return response.status, json.dumps(body)


@pytest.fixture
def servers() -> Iterator[list[Web]]:
    state = Path(settings.STATE_DIR)
    environment = {
        "DATABASE_URL": database_url(),
        "CODEFRAME_SECRET_KEY": settings.SECRET_KEY,
        "CODEFRAME_RATE_START": "1000000/min",
    }
    with ExitStack() as stack:
        yield [stack.enter_context(web(state, **environment)) for _ in range(2)]


def test_of_fifty_that_start_at_once_one_wins_a_hundred_times(
    tmp_path: Path, servers: list[Web]
) -> None:
    workspace = make_workspace(tmp_path)
    CommandEngine.objects.create(name="agent", argv=AGENT)
    make_task(workspace, "a")
    user = User.objects.create(username="ada", is_superuser=True)
    _, key = make_token(user=user, name="race", scope=Scope.WRITE)
    callers: list[Callable[[], tuple[int, str]]] = [
        Caller(servers[number % 2], key, workspace) for number in range(CALLERS - 2)
    ]
    callers += [lambda: _create_here(workspace)] * 2

    for number in range(ROUNDS):
        asked = callers + ([lambda: _command(workspace)] if number % COMMANDS_EVERY == 0 else [])
        answers = at_once(asked)
        statuses = Counter(status for status, _ in answers)
        active = Batch.objects.filter(workspace=workspace, status__in=ACTIVE)
        assert statuses == {200: 1, 409: len(asked) - 1}, answers
        winner = active.get()
        refusals = [body for status, body in answers if status == 409]
        assert all(winner.short_id in body for body in refusals)
        lifecycle.cancel_batch(batch_id=winner.id)
    assert Batch.objects.filter(workspace=workspace).count() == ROUNDS


def at_once(callers: list[Callable[[], tuple[int, str]]]) -> list[tuple[int, str]]:
    barrier = threading.Barrier(len(callers))
    answers: list[tuple[int, str]] = []

    def ask(caller: Callable[[], tuple[int, str]]) -> None:
        try:
            barrier.wait()
            answers.append(caller())
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(caller,)) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def _create_here(workspace: Workspace) -> tuple[int, str]:
    """The verb itself, in a process that is neither of the two servers."""
    try:
        batch = lifecycle.create_batch(
            admission=admit(workspace=workspace, options=options()), origin="test"
        )
    except WorkspaceBusy as busy:
        return 409, busy.message
    return 200, str(batch.id)


def _command(workspace: Workspace) -> tuple[int, str]:
    done = manage(
        Path(settings.STATE_DIR),
        "runbatch",
        "-w",
        workspace.name,
        "--all-ready",
        "--detach",
        DATABASE_URL=database_url(),
        CODEFRAME_SECRET_KEY=settings.SECRET_KEY,
    )
    return {0: 200, 3: 409}.get(done.returncode, 500), done.stdout + done.stderr
