"""From the agent's start to its death: pump its output, keep its deadlines, find why it ends."""

import select
import time

from batches.supervisor.child.family import Family
from batches.supervisor.child.launching import Agent
from batches.supervisor.child.requests import Followers, read_stop
from batches.supervisor.child.spooling import Spool
from batches.supervisor.layout import STDERR, STDOUT
from batches.supervisor.native import os, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TICK_S = 1.0
GRACE_TURN_S = 0.05
DRAIN_S = 0.25  # for a pipe held open by a child that the agent left behind
READ_BYTES = 64 * 1024
LAST_READS = 64
_FOREVER = float("inf")


class Watch:
    """One run. The first cause found is the one that stands."""

    def __init__(self, run_dir: str, spec: "dict[str, Any]", agent: Agent, wake: int) -> None:
        self.run_dir = run_dir
        self.spec = spec
        self.family = Family(agent.pid)
        self.cause = ""
        self.reason = ""
        self.spools = {
            name: Spool(f"{run_dir}/{name}", spec["spool_bytes"]) for name in (STDOUT, STDERR)
        }
        self._pipes = {agent.stdout: self.spools[STDOUT], agent.stderr: self.spools[STDERR]}
        self._failure = agent.failure
        self._failure_text = b""
        self._wake = wake
        self._nudged = False
        self._followers = Followers(run_dir)
        now = time.monotonic()
        self.began = self._last_output = self._last_followed = now
        self._next_tick = now + TICK_S
        self._poller = select.poll()
        for fd in (wake, agent.failure, *self._pipes):
            self._poller.register(fd, select.POLLIN)

    def until_cause(self) -> None:
        while not self.cause:
            self._turn(self._next_deadline())
            self._find_cause(time.monotonic())

    def stop_agent(self) -> None:
        """The polite signal and the grace, which a later request can shorten; no axe yet."""
        began = time.monotonic()
        self.family.signal_group(getattr(signal, self.spec["stop_signal"]))
        grace_s = self._asked_grace(self.spec["grace_s"])
        while self.family.group_lives() and (now := time.monotonic()) < began + grace_s:
            self._turn(min(began + grace_s, now + GRACE_TURN_S))
            if self._look_now(time.monotonic()):
                grace_s = min(grace_s, self._asked_grace(grace_s))

    def drain_briefly(self) -> None:
        end = time.monotonic() + DRAIN_S
        while self._pipes and time.monotonic() < end:
            self._turn(end)

    def drain_rest(self) -> None:
        """All writers are dead: what the pipes hold now is all there will be."""
        for fd in list(self._pipes):
            for _ in range(LAST_READS):
                if not self._pump(fd):
                    break
        for spool in self.spools.values():
            spool.close()

    def _turn(self, until: float) -> None:
        wait_s = max(0.0, until - time.monotonic())
        for fd, _ in self._poller.poll(wait_s * 1000):
            if fd == self._wake:
                self._nudged |= signal.SIGTERM in os.read(fd, 4096)
                self.family.reap()
            elif fd == self._failure:
                self._read_failure()
            else:
                self._pump(fd)

    def _pump(self, fd: int) -> bool:
        """One read. False when there is nothing (more) to read."""
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._forget(fd)
            del self._pipes[fd]
            return False
        self._last_output = time.monotonic()
        self._pipes[fd].write(data)
        return True

    def _read_failure(self) -> None:
        try:
            data = os.read(self._failure, READ_BYTES)
        except BlockingIOError:
            return
        self._failure_text += data
        if not data:
            self._forget(self._failure)
            self._failure = -1

    def _forget(self, fd: int) -> None:
        self._poller.unregister(fd)
        os.close(fd)

    def _next_deadline(self) -> float:
        return min(self._next_tick, self._deadline(), self._silence_end())

    def _deadline(self) -> float:
        return self.began + (self.spec["deadline_s"] or _FOREVER)

    def _silence_end(self) -> float:
        return self._last_output + (self.spec["silence_s"] or _FOREVER)

    def _find_cause(self, now: float) -> None:
        if self.family.wait_status is not None:
            self._agent_ended()
        elif self._look_now(now):
            self._heed_others(now)
        if self.cause:
            return
        if now >= self._deadline():
            self.end("timeout", f"ran longer than {self.spec['deadline_s']:g} s")
        elif now >= self._silence_end():
            self.end("stalled", f"no output for {self.spec['silence_s']:g} s")

    def _agent_ended(self) -> None:
        if self._failure >= 0:
            self._read_failure()
        if self._failure_text:
            self.end("start_failed", self._failure_text.decode("utf-8", "replace"))
        else:
            self.end("exited", "")

    def _look_now(self, now: float) -> bool:
        """About once a second, and at once after a nudge."""
        if now < self._next_tick and not self._nudged:
            return False
        self._next_tick = now + TICK_S
        return True

    def _heed_others(self, now: float) -> None:
        nudged, self._nudged = self._nudged, False
        stop = read_stop(self.run_dir)
        if stop or nudged:
            self.end("stopped", stop.reason if stop else "SIGTERM to the supervisor")
        elif self._followers.any():
            self._last_followed = now
        elif self.spec["orphan_s"] and now - self._last_followed >= self.spec["orphan_s"]:
            self.end("orphaned", f"nobody followed for {self.spec['orphan_s']:g} s")

    def _asked_grace(self, otherwise: float) -> float:
        self._nudged = False
        stop = read_stop(self.run_dir)
        return otherwise if stop is None or stop.grace_s is None else max(0.0, stop.grace_s)

    def end(self, cause: str, reason: str) -> None:
        self.cause, self.reason = cause, reason
