"""From the commit of an event to its receipt, with many clients of a real web server; what readers
that stand still cost it; and how many events a second can be recorded at all.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction

from codeframe_site.tokens import make_token
from tasks.events.log import NewEvent, record
from tasks.events.reading import last_seq
from tasks.models import Workspace
from tests.bench.report import Row
from tests.codeframe_site.rows import workspace_row
from tests.codeframe_site.server_process import Web, web
from tests.faults.world import database_url
from tests.streams.client import CLIENTS
from tests.streams.reading import until

LOADS = [(rate, clients) for rate in (50, 500) for clients in (1, 200, 1000)]
SECONDS = 8.0
COMMITS_A_SECOND = 100
"""At most; beyond it several events share a transaction."""
STOPPED, STOPPED_RATE, STOPPED_SECONDS = 20, 1000, 20.0
TICKS = os.sysconf("SC_CLK_TCK")


def run() -> list[Row]:
    workspace = workspace_row("bench")
    _, key = make_token(user=User.objects.create_superuser("bench"), name="bench")
    rows = []
    for rate, clients in LOADS:
        with _server() as server:
            rows.append(_delivery(server, workspace, key, rate, clients))
    with _server() as server:
        rows.append(_stopped_readers(server, workspace, key))
    return [*rows, _recorded(workspace, 1), _recorded(workspace, 50)]


@contextmanager
def _server() -> Iterator[Web]:
    more = {
        "DATABASE_URL": database_url(),
        "CODEFRAME_SECRET_KEY": settings.SECRET_KEY,
        "CODEFRAME_MAX_STREAMS": "2000",
        "CODEFRAME_MAX_STREAMS_PER_USER": "2000",
    }
    with tempfile.TemporaryDirectory() as state, web(Path(state), **more) as server:
        yield server


def _row(what: str, **figures: object) -> Row:
    empty = dict.fromkeys(
        ("events/s", "p50 ms", "p99 ms", "max ms", "complete", "server CPU s", "memory MB"), "-"
    )
    return {"what": what, "database": connection.vendor} | empty | figures


def _delivery(server: Web, workspace: Workspace, key: str, rate: int, clients: int) -> Row:
    words = [str(server.port), f"workspaces/{workspace.id}", key, str(clients)]
    listening = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.listening", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert listening.stdin
    assert listening.stdout
    assert listening.stdout.readline() == "ready\n"
    cpu = _cpu_s(server.pid)
    written = _write(workspace, rate, SECONDS)
    told, _ = listening.communicate(f"{last_seq(workspace.id)}\n")
    heard = json.loads(told)
    late = heard["late"]
    return _row(
        f"{clients} clients, {rate}/s",
        **{
            "events/s": written,
            "p50 ms": late[len(late) // 2] * 1000,
            "p99 ms": late[int(len(late) * 0.99)] * 1000,
            "max ms": late[-1] * 1000,
            "complete": f"{heard['complete']} of {clients}",
            "server CPU s": _cpu_s(server.pid) - cpu,
            "memory MB": _memory_mb(server.pid),
        },
    )


def _write(workspace: Workspace, rate: int, seconds: float, text: str = "x" * 100) -> float:
    """At that rate, or as fast as it goes; gives the events a second that were written."""
    each = max(1, rate // COMMITS_A_SECOND)
    began, written = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        if written < rate * passed:
            with transaction.atomic():
                payload = {"at": time.time(), "text": text}
                record(
                    workspace_id=workspace.id,
                    events=[NewEvent(type="BENCH", payload=payload)] * each,
                )
            written += each
        else:
            time.sleep(0.001)
    return written / seconds


def _stopped_readers(server: Web, workspace: Workspace, key: str) -> Row:
    """Half of each transport; they read nothing once they are live."""
    headers = {"Authorization": f"Bearer {key}"}
    clients = []
    for number in range(STOPPED):
        kind = CLIENTS["ws" if number % 2 else "sse"]
        client = kind(server.port, f"workspaces/{workspace.id}", headers, receive_buffer=4096)
        until(iter(client), "live")
        clients.append(client)
    _write(workspace, STOPPED_RATE, 5.0, "x" * 1000)
    first, memory = _memory_mb(server.pid), [0.0]
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.2):
            memory.append(_memory_mb(server.pid))

    looking = threading.Thread(target=look)
    looking.start()
    written = _write(workspace, STOPPED_RATE, STOPPED_SECONDS, "x" * 1000)
    ended.set()
    looking.join()
    for client in clients:
        client.drop()
    last = memory[-1]
    return _row(
        f"{STOPPED} stopped readers, after 5 s {first:.0f} MB, most {max(memory):.0f}",
        **{"events/s": written, "memory MB": last},
    )


def _recorded(workspace: Workspace, each: int) -> Row:
    began, count = time.monotonic(), 0
    while time.monotonic() - began < 4.0:
        with transaction.atomic():
            record(
                workspace_id=workspace.id,
                events=[NewEvent(type="BENCH", payload={"text": "x" * 100})] * each,
            )
        count += each
    rate = count / (time.monotonic() - began)
    return _row(f"recorded, {each} a transaction, nobody reads", **{"events/s": rate})


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS


def _memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
