"""One thread per web process that reads what is committed and hands it to all its streams."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from django.db import Error as DatabaseError
from django.db import connection

from tasks.events.payloads import Line
from tasks.events.reading import last_seqs, read_lines
from tasks.events.target import Target
from tasks.events.wakeup import Kick, Wakeup, make_wakeup

log = logging.getLogger(__name__)

PAGE = 1000
GAP_S = 0.03
"""Between two deliveries: what is committed meanwhile goes out in one frame."""
GAP_PER_STREAM_S = 0.0001
RETRY_S = (0.05, 2.0)
PATIENCE_S = 5.0
"""For the loop to take a delivery; then the next is read, for nothing is lost by reading again."""

Tails = Callable[[], Mapping[UUID, int]]
Deliver = Callable[[Mapping[UUID, Sequence[Line]]], threading.Event]


class Relay:
    """`tails` says how far each watched workspace has been delivered; both are called here."""

    def __init__(self, *, tails: Tails, deliver: Deliver, streams: Callable[[], int]) -> None:
        self._tails = tails
        self._deliver = deliver
        self._streams = streams
        self._kick = Kick()
        self._ended = threading.Event()
        self._delivered_at = 0.0
        self._thread = threading.Thread(target=self._run, name="stream-relay", daemon=True)
        self.failures = 0

    def start(self) -> None:
        self._thread.start()

    def look(self) -> None:
        """Now: something is watched that was not before."""
        self._kick.give()

    def stop(self) -> None:
        self._ended.set()
        self._kick.give()
        self._thread.join()
        self._kick.close()

    def _run(self) -> None:
        pause = RETRY_S[0]
        while not self._ended.is_set():
            wakeup: Wakeup | None = None
            try:
                wakeup = make_wakeup()
                pause = RETRY_S[0]
                self._follow(wakeup)
            except Exception as error:
                # The thread's outermost frame: whatever it was, all streams hang on this thread.
                self._report(error)
                self.failures += 1
                self._ended.wait(pause)
                pause = min(RETRY_S[1], pause * 2)
            finally:
                if wakeup is not None:
                    wakeup.close()
                connection.close()

    def _report(self, error: Exception) -> None:
        """A database that is away is no bug of ours; anything else is shown with its traceback."""
        away = isinstance(error, DatabaseError | OSError) or _is_drivers(error)
        log.warning("the event relay begins anew: %s", _first_line(error), exc_info=not away)

    def _follow(self, wakeup: Wakeup) -> None:
        """A first look at once: what was committed before one listened has told nobody."""
        while not self._ended.is_set():
            while self._pass():
                pass
            wakeup.wait(self._kick)

    def _pass(self) -> bool:
        """Whether there is more to read. The pause comes before reading: what is committed in it
        would have to wait for the next."""
        self._keep_the_gap()
        tails = self._tails()
        if not tails or self._ended.is_set():
            return False
        behind = {key: tails[key] for key, seq in last_seqs(tails).items() if seq > tails[key]}
        found = {
            key: read_lines(Target("workspace", key, key), after=tail, limit=PAGE)
            for key, tail in behind.items()
        }
        if not any(found.values()):
            return False
        self._deliver(found).wait(PATIENCE_S)
        self._delivered_at = time.monotonic()
        return any(len(lines) == PAGE for lines in found.values())

    def _keep_the_gap(self) -> None:
        gap = GAP_S + GAP_PER_STREAM_S * self._streams()
        self._ended.wait(max(0.0, self._delivered_at + gap - time.monotonic()))


def _is_drivers(error: Exception) -> bool:
    """The listener speaks to PostgreSQL without Django, which would make it one of its own."""
    return type(error).__module__.partition(".")[0] == "psycopg"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
