"""Stop requests as they reach a run: visible in any thread, first reason wins."""

import threading
from dataclasses import dataclass

from batches.reasons import Reason
from batches.shared import Flag


@dataclass(frozen=True)
class Stop:
    reason: Reason
    sentence: str


class LetGo(Exception):
    """The worker is leaving: agents go on under their supervisors, the next owner adopts them."""


class StopScope:
    """One per run. Any of the `leave` flags set means that the worker is going away."""

    def __init__(self, *leave: Flag) -> None:
        self._leave = leave
        self._stop: Stop | None = None
        self._lock = threading.Lock()

    def request(self, reason: Reason, sentence: str = "") -> None:
        with self._lock:
            if self._stop is None:
                self._stop = Stop(reason, sentence or reason.sentence)

    def asked(self) -> Stop | None:
        """Raises LetGo when the worker leaves, whatever else was asked."""
        if any(flag.is_set() for flag in self._leave):
            raise LetGo
        return self._stop

    def check(self) -> None:
        """Raises Stopped, for the steps between two commands."""
        stop = self.asked()
        if stop:
            raise Stopped(stop)


class Stopped(Exception):
    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.sentence)
        self.stop = stop
