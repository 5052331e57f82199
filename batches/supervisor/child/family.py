"""The agent and all that came out of it: reaping, signalling, and killing to the last one."""

from batches.supervisor.native import os, signal
from batches.supervisor.processes import ON_LINUX, Process, descendants
from batches.supervisor.sweep import Victim, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_RTLD_NOW = 2


def become_subreaper() -> None:
    """Orphans of the agent become our children, whatever session they hide in. Raises OSError."""
    if not ON_LINUX:
        return
    import _ctypes  # the C half: the public module takes 5 ms to import

    this_program: Any = None
    prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, _RTLD_NOW), "prctl")
    if _ctypes.call_cdeclfunction(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) != 0:
        raise OSError("this kernel refuses PR_SET_CHILD_SUBREAPER")


class Family:
    """`wait_status` is set once the agent is reaped; its pid is then no longer its own."""

    __slots__ = ("agent", "childless", "cpu_s", "max_rss_kb", "wait_status")

    def __init__(self, agent: int) -> None:
        self.agent = agent
        self.wait_status: int | None = None
        self.childless = False
        self.cpu_s = 0.0
        self.max_rss_kb = 0

    def reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                return
            if pid == self.agent:
                self._agent_ended(status)
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.max_rss_kb = max(self.max_rss_kb, usage.ru_maxrss // (1 if ON_LINUX else 1024))

    def _agent_ended(self, status: int) -> None:
        self.wait_status = status
        if not ON_LINUX:  # no /proc to find its children by later, and now the group is still its
            self._signal_whatever_group(signal.SIGKILL)

    def signal_group(self, number: int) -> None:
        """Only while the agent is ours to reap: its pid, so its group, cannot be another's."""
        if self.wait_status is None and not self._signal_whatever_group(number):
            os.kill(self.agent, number)  # forked, but not yet the leader of its session

    def _signal_whatever_group(self, number: int) -> bool:
        try:
            os.killpg(self.agent, number)
        except ProcessLookupError:
            return False
        except PermissionError:  # macOS says so of zombies, Linux of a group of another user
            return True
        return True

    def group_lives(self) -> bool:
        if self.wait_status is None:
            return True
        if self.childless or not ON_LINUX:
            return False
        return any(process.group == self.agent for process in descendants(os.getpid()))

    def kill(self) -> tuple[list[Victim], list[Victim]]:
        """Kill the agent and every descendant; return those killed and those that survived it."""
        self.reap()
        if self.childless:  # as subreaper: nobody at all is left
            return [], []
        if not ON_LINUX:
            return self._kill_agent(), []
        killed, survivors = sweep(self._members)
        self.reap()
        return killed, survivors

    def _kill_agent(self) -> list[Victim]:
        if self.wait_status is not None:
            return []
        self.signal_group(signal.SIGKILL)
        self._agent_ended(os.wait4(self.agent, 0)[1])
        return [{"pid": self.agent, "name": ""}]

    def _members(self) -> list[Process]:
        self.reap()
        return [] if self.childless else descendants(os.getpid())
