"""A conductor's second thread: renews the lease and reads what people have asked for."""

import logging
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connection

from batches import lease as leases
from batches.errors import Fenced
from batches.lease import Lease, Orders

log = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
"""How often orders are read: a stop must reach every process within ten seconds, grace included."""


class Watch:
    """Use as a context. `wake` is called, from the watch's thread, whenever something changed."""

    def __init__(self, lease: Lease, *, wake: Callable[[], None]) -> None:
        self._lease = lease
        self._wake = wake
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.fenced = False
        self.orders = Orders(stop_mode="", stop_reason="", runs_to_stop=frozenset())

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        renewed = time.monotonic()
        try:
            while not self._ended.wait(LOOK_SECONDS) and not self.fenced:
                renewed = self._beat(renewed)
        finally:
            connection.close()

    def _beat(self, renewed: float) -> float:
        """Time of the last renewal. Without the database the lease runs out: then we are fenced."""
        try:
            if time.monotonic() - renewed >= settings.HEARTBEAT_SECONDS:
                leases.renew(self._lease)
                renewed = time.monotonic()
            self._look()
        except Fenced:
            self._leave()
        except DatabaseError as error:
            log.warning("lease of batch %s: %s", self._lease.batch_id, error)
            connection.close()
            if time.monotonic() - renewed > settings.LEASE_SECONDS:
                self._leave()
        return renewed

    def _look(self) -> None:
        orders = leases.read_orders(self._lease)
        if orders != self.orders:
            self.orders = orders
            self._wake()

    def _leave(self) -> None:
        self.fenced = True
        self._wake()
