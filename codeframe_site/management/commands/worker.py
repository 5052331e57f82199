"""Runs the queue's processes so that none outlives, or silently outlasts, the others.

A bare qcluster lives on headless when its sentinel or its main process is killed, drains without
bound on SIGTERM, hangs when a whole group is signalled, and hands out nothing more when an idle
worker dies with the queue's lock. Here every process dies with its parent, the main process ends
when the sentinel does, a stop is bounded, and a cluster that delivers nothing is replaced. Batches
are only ever let go: agents live on under their supervisors, and the next owner adopts them.
"""

import ctypes
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django_q.cluster import Cluster
from django_q.conf import Conf

from batches import engine_versions, recovery, worker_files
from batches.models import Batch
from batches.shared import DRAIN, LEAVE, last_delivery
from codeframe_site.connections import keep_own
from tasks import queue
from tasks.console import ConsoleCommand

RECOVERY_SECONDS = 5.0
STOP_SECONDS = 4.0
"""Under the five seconds that a process manager such as honcho waits before it kills."""
WEDGED_SECONDS = 5.0
"""A sent message that reached no process for this long means that the queue hands out nothing."""
COLLECT_SECONDS = 600.0
"""How often environments that nobody needs are looked for, by a process of the queue."""
POLL_SECONDS = 0.1
PR_SET_PDEATHSIG = 1
EXIT_SENTINEL_DIED = 70
_parent = [0]
"""The process that forks, noted before it does."""


class Command(ConsoleCommand):
    help = (
        "Run batches from the queue. SIGTERM: agents live on, the next worker adopts them. "
        "manage.py drain: finish what runs, then end."
    )

    def run(self, **_: Any) -> int:
        self.check()
        keep_own()
        os.register_at_fork(before=_note_parent, after_in_child=_die_with_parent)
        own_queue = _fork_for_own_queue() if settings.HOST_NAME else None
        if own_queue == 0:
            Conf.CLUSTER_NAME = settings.HOST_NAME
        signals = _Signals()
        with worker_files.announced():
            code = _Worker(signals, recovers=own_queue != 0).run()
        sys.stdout.flush()
        # The sentinel drains without bound; our death takes what is left of the cluster along.
        os._exit(code)


def _fork_for_own_queue() -> int:
    """0 in the child: it serves the queue of the workspaces that only this machine holds."""
    connection.close()
    return os.fork()


class _Signals:
    """SIGTERM, SIGINT and SIGHUP: leave now. SIGUSR1: finish what runs, claim nothing more."""

    def __init__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._leave)
        signal.signal(signal.SIGUSR1, self._drain)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        LEAVE.set()

    def _drain(self, number: int, frame: FrameType | None) -> None:
        DRAIN.set()

    def again(self) -> None:
        """Django-Q2 installs handlers of its own when a cluster is made."""
        self.__init__()  # type: ignore[misc]


def _note_parent() -> None:
    _parent[0] = os.getpid()


def _die_with_parent() -> None:
    """In each forked process. A signal to the whole group must not abort a batch: the main
    process sets the flag, and the others end with it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != _parent[0]:
            os._exit(EXIT_SENTINEL_DIED)  # it died before we asked to be told
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


class _Worker:
    def __init__(self, signals: _Signals, *, recovers: bool) -> None:
        self._signals = signals
        self._recovers = recovers
        self._sent_at = 0.0
        self._sent: list[Batch] = []
        self._cluster: Any = None
        self._collected = time.monotonic()

    def run(self) -> int:
        self._start()
        sys.stderr.write(f"worker {os.getpid()}: {settings.WORKERS} processes, ready\n")
        looked = 0.0
        while not LEAVE.is_set():
            if not self._cluster.sentinel.is_alive():
                return EXIT_SENTINEL_DIED
            if time.monotonic() - looked >= RECOVERY_SECONDS:
                looked = time.monotonic()
                self._look_after()
            if DRAIN.is_set() and self._idle():
                return 0
            self._cluster.sentinel.join(POLL_SECONDS)
        self._wait_until_let_go()
        return 0

    def _start(self) -> None:
        connection.close()
        self._cluster = Cluster()
        self._signals.again()
        self._cluster.start()

    def _look_after(self) -> None:
        if not self._recovers or DRAIN.is_set():
            return
        try:
            if self._wedged():
                self._replace()
            sent = recovery.recover()
            self._ask_engines()
            self._collect()
        except DatabaseError as error:
            sys.stderr.write(f"recovery: {error}\n")
            connection.close()
            return
        if sent and not self._sent:
            # Not when it is sent again: the wait counts from the first message that got no answer.
            self._sent, self._sent_at = sent, time.monotonic()

    def _ask_engines(self) -> None:
        try:
            due = engine_versions.ask_soon()
        except OSError as error:
            sys.stderr.write(f"engines: {error}\n")
            return
        if due:
            queue.send_engine_check(host=settings.HOST_NAME)

    def _collect(self) -> None:
        if time.monotonic() - self._collected >= COLLECT_SECONDS:
            self._collected = time.monotonic()
            queue.send_collection(host=settings.HOST_NAME)

    def _wedged(self) -> bool:
        if last_delivery() > self._sent_at:
            self._sent = []
        if not self._sent or time.monotonic() - self._sent_at < WEDGED_SECONDS:
            return False
        waiting = {batch.id for batch in recovery.unowned()}
        self._sent = [batch for batch in self._sent if batch.id in waiting]
        return bool(self._sent)

    def _replace(self) -> None:
        """Its batches' agents live on; their leases are freed as soon as their owners are gone."""
        sys.stderr.write("the queue hands out nothing: starting its processes anew\n")
        self._cluster.sentinel.kill()
        self._cluster.sentinel.join()
        self._sent = []
        self._start()

    def _idle(self) -> bool:
        try:
            return not recovery.held_here()
        except DatabaseError:
            connection.close()
            return False

    def _wait_until_let_go(self) -> None:
        """Within bounds: what is not let go by then is freed as its owner's death is seen."""
        if not self._idle():
            sys.stderr.write("agents go on without this worker; the next one adopts them\n")
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline and not self._idle():
            # A signal to the whole group kills the sentinel, so nobody is left to let go.
            if not self._cluster.sentinel.is_alive():
                return
            time.sleep(POLL_SECONDS)
