"""Runs the queue's processes so that none outlives, or silently outlasts, the others.

A bare qcluster lives on headless when its sentinel or its main process is killed, drains without
bound on SIGTERM and hangs when a whole group is signalled. Here every process of the cluster dies
with its parent, the main process ends when the sentinel does, and a stop is bounded: batches are
let go, their agents go on under their supervisors, and the next worker adopts them.
"""

import argparse
import ctypes
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django_q.cluster import Cluster

from batches import recovery
from batches.shutdown import DRAIN, LEAVE
from tasks.console import ConsoleCommand

RECOVERY_SECONDS = 5.0
STOP_SECONDS = 8.0
POLL_SECONDS = 0.2
PR_SET_PDEATHSIG = 1
EXIT_SENTINEL_DIED = 70


class Command(ConsoleCommand):
    help = "Run batches from the queue. SIGTERM lets agents live on; the next worker adopts them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)

    def run(self, **_: Any) -> int:
        self.check()
        os.register_at_fork(after_in_child=_die_with_parent)
        cluster = Cluster()
        stop = _StopSignals()
        cluster.start()
        self.stderr.write(f"worker {os.getpid()}: {settings.WORKERS} processes, ready")
        threading.Thread(target=_recover_for_ever, name="recovery", daemon=True).start()
        code = _watch(cluster, stop)
        sys.stdout.flush()
        # The sentinel drains without bound; our death takes what is left of the cluster along.
        os._exit(code)


class _StopSignals:
    """SIGTERM and SIGINT: leave now. SIGUSR1: finish what runs, claim nothing more."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._leave)
        signal.signal(signal.SIGUSR1, self._drain)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        LEAVE.set()

    def _drain(self, number: int, frame: FrameType | None) -> None:
        DRAIN.set()


def _die_with_parent() -> None:
    """In each forked process. A signal to the whole group must not abort a batch: the flag says
    it, and the process ends with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


def _watch(cluster: Any, stop: _StopSignals) -> int:
    while cluster.sentinel.is_alive():
        if stop.asked:
            return _leave()
        if DRAIN.is_set() and not recovery.held_here():
            return 0
        cluster.sentinel.join(POLL_SECONDS)
    return EXIT_SENTINEL_DIED


def _leave() -> int:
    """Waits, within bounds, until every batch of this worker has been let go."""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            if not recovery.held_here():
                break
        except DatabaseError:
            break  # leases run out by themselves
        time.sleep(POLL_SECONDS)
    return 0


def _recover_for_ever() -> None:
    while True:
        try:
            if not LEAVE.is_set() and not DRAIN.is_set():
                recovery.recover()
        except DatabaseError as error:
            sys.stderr.write(f"recovery: {error}\n")
            connection.close()
        time.sleep(RECOVERY_SECONDS)
