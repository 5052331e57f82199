"""All open streams of this web process, and what they share."""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from tasks.events.admission import Admission, Refused
from tasks.events.payloads import Line
from tasks.events.relay import Relay
from tasks.events.threads import Readers
from tasks.events.topic import Topic

if TYPE_CHECKING:
    from tasks.events.stream import Stream

log = logging.getLogger(__name__)

BEAT_S = 1.0
HEARTBEAT_S = 15.0
RECHECK_S = 5.0
GOING_AWAY, FELL_BEHIND = 1012, 4408

Lost = Callable[[Sequence[Admission]], Mapping[Admission, int]]


class Figures:
    """What /metrics tells."""

    def __init__(self) -> None:
        self.frames = self.events = self.resyncs = self.refused = self.stuck = 0
        self.lag_s = 0.0
        """From commit, roughly, to the loop: of the newest event delivered last."""


class Hub:
    """Of the event loop's thread, but for `tails` and `deliver`, which the relay calls."""

    def __init__(self, *, most: int, most_per_user: int, patience_s: float = 60.0) -> None:
        """`patience_s` is how long a client may take nothing before it is sent away."""
        self.figures = Figures()
        self.readers = Readers()
        self.draining = False
        self.entering = 0
        """Whose right to a stream is being asked for."""
        self._most = most
        self._most_per_user = most_per_user
        self._patience_s = patience_s
        self._topics: dict[UUID, Topic] = {}
        self._streams: set[Stream] = set()
        self._per_user: Counter[int] = Counter()
        self._relay: Relay | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._checked_at = 0.0
        self._lost: Lost | None = None

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def failures(self) -> int:
        """Of the relay, each followed by a new beginning."""
        return self._relay.failures if self._relay else 0

    def require_room(self) -> None:
        """Before anything is asked of the database. Raises Refused."""
        if self.draining:
            raise Refused(503, "the server restarts: come back in a moment")
        if len(self._streams) + self.entering >= self._most:
            self._refuse("too many streams are open here")

    def join(self, stream: "Stream", lost: Lost) -> Topic:
        """Raises Refused."""
        self.require_room()
        admission = stream.admission
        if self._per_user[admission.user_id] >= self._most_per_user:
            self._refuse(f"you have {self._most_per_user} streams open, and no more are allowed")
        self._lost = lost
        self._start()
        key = admission.target.workspace_id
        topic = self._topics.setdefault(key, Topic(key, admission.settled))
        topic.streams += 1
        self._streams.add(stream)
        self._per_user[admission.user_id] += 1
        if topic.streams == 1 and self._relay:
            self._relay.look()
        return topic

    def leave(self, stream: "Stream") -> None:
        self._streams.discard(stream)
        admission = stream.admission
        self._per_user[admission.user_id] -= 1
        self._per_user += Counter()  # forgets the zeros
        topic = self._topics[admission.target.workspace_id]
        topic.streams -= 1
        if not topic.streams:
            del self._topics[topic.workspace_id]

    def drain(self) -> None:
        """Everybody is to come back, to whoever serves then."""
        self.draining = True
        for stream in self._streams:
            stream.end(GOING_AWAY)

    def close(self) -> None:
        """For good; waits for the threads."""
        if self._relay:
            self._relay.stop()
            self._relay = None
        self.readers.close()

    # -- called by the relay ---------------------------------------------------------------------

    def tails(self) -> dict[UUID, int]:
        return {key: topic.tail for key, topic in list(self._topics.items())}

    def deliver(self, found: Mapping[UUID, Sequence[Line]]) -> threading.Event:
        taken = threading.Event()
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._take, found, taken)
        except RuntimeError:  # the loop has ended, and nobody listens any more
            taken.set()
        return taken

    def _take(self, found: Mapping[UUID, Sequence[Line]], taken: threading.Event) -> None:
        for key, lines in found.items():
            if key in self._topics:
                self._topics[key].add(lines)
                self.figures.lag_s = _age_s(lines[-1])
        for stream in self._streams:
            if stream.admission.target.workspace_id in found:
                stream.wake.set()
        taken.set()

    # -- on the loop -----------------------------------------------------------------------------

    def _refuse(self, message: str) -> None:
        self.figures.refused += 1
        raise Refused(429, message)

    def _start(self) -> None:
        if self._relay is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._relay = Relay(tails=self.tails, deliver=self.deliver, streams=self.__len__)
        self._relay.start()
        self._loop.call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        if self._relay is None or self._loop is None:
            return
        now = time.monotonic()
        for stream in self._streams:
            if stream.stuck_s(now) > self._patience_s:
                self.figures.stuck += 1
                stream.end(FELL_BEHIND)
            elif now - stream.sent_at >= HEARTBEAT_S:
                stream.wake.set()
        if now - self._checked_at >= RECHECK_S and self._streams:
            self._checked_at = now
            self._recheck()
        self._loop.call_later(BEAT_S, self._beat)

    def _recheck(self) -> None:
        lost, admissions = self._lost, [stream.admission for stream in self._streams]
        if lost is None or self._loop is None:
            return
        loop = self._loop
        asking = self.readers.submit(lambda: lost(admissions))
        asking.add_done_callback(lambda done: loop.call_soon_threadsafe(self._send_away, done))

    def _send_away(self, asked: "Future[Mapping[Admission, int]]") -> None:
        if asked.cancelled():
            return
        if error := asked.exception():
            log.warning("who may still see the open streams could not be asked: %s", error)
            return
        gone = asked.result()
        for stream in self._streams:
            if status := gone.get(stream.admission):
                stream.end(4000 + status)


def _age_s(line: Line) -> float:
    return max(0.0, (datetime.now(UTC) - line.created_at).total_seconds())
