"""Processes by pid and start time, read from /proc. Light: the child side pays for each import."""
# (pathlib would double the start time)

import sys

from batches.supervisor.native import os, signal

ON_LINUX = sys.platform == "linux"
_DEAD = frozenset("ZXx")
_PARENT, _GROUP, _SESSION, _START = 1, 2, 3, 19


class Process:
    """A line of /proc. `start` is in clock ticks since boot: with the pid it names one process."""

    __slots__ = ("group", "name", "parent", "pid", "session", "start", "state")

    def __init__(self, pid: int, stat: bytes) -> None:
        head, _, tail = stat.rpartition(b")")
        fields = tail.split()
        self.pid = pid
        self.name = head.partition(b"(")[2].decode("utf-8", "replace")
        self.state = chr(fields[0][0])
        self.parent = int(fields[_PARENT])
        self.group = int(fields[_GROUP])
        self.session = int(fields[_SESSION])
        self.start = int(fields[_START])

    @property
    def alive(self) -> bool:
        return self.state not in _DEAD

    @property
    def identity(self) -> tuple[int, int]:
        return self.pid, self.start


def read_file(path: str, limit: int = 65536) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, limit)
    finally:
        os.close(fd)


def find(pid: int) -> Process | None:
    """None when there is no such process (any more), and always off Linux."""
    try:
        return Process(pid, read_file(f"/proc/{pid}/stat", 2048))
    except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
        return None


def living() -> list[Process]:
    """All processes but zombies; empty off Linux."""
    if not ON_LINUX:
        return []
    seen = (find(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in seen if process is not None and process.alive]


def with_descendants(roots: set[int], among: list[Process]) -> list[Process]:
    """The processes of `roots` and all that descend from them."""
    children: dict[int, list[Process]] = {}
    for process in among:
        children.setdefault(process.parent, []).append(process)
    found = [process for process in among if process.pid in roots]
    seen = set(roots)
    for process in found:
        for child in children.get(process.pid, ()):
            if child.pid not in seen:
                seen.add(child.pid)
                found.append(child)
    return found


def descendants(ancestor: int) -> list[Process]:
    among = living()
    roots = {process.pid for process in among if process.parent == ancestor}
    return with_descendants(roots, among)


def start_time(pid: int) -> int:
    """0 where /proc is missing: the lock on process.json says who lives there."""
    process = find(pid)
    return process.start if process else 0


def host_id() -> str:
    """Names this boot and this pid namespace: pids recorded under another one mean nothing here."""
    if not ON_LINUX:
        return sys.platform
    boot = read_file("/proc/sys/kernel/random/boot_id").decode().strip()
    return f"{boot}/{os.readlink('/proc/self/ns/pid')}"


def send(process: Process, number: int) -> bool:
    """Signal exactly this process, by pidfd, so that a recycled pid is never hit."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except OSError:  # no pidfd in this kernel or sandbox
        return _send_unpinned(process, number)
    try:
        return _is_still(process) and _send_pinned(handle, number)
    finally:
        os.close(handle)


def _is_still(process: Process) -> bool:
    now = find(process.pid)
    return now is not None and now.identity == process.identity


def _send_pinned(handle: int, number: int) -> bool:
    try:
        signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _send_unpinned(process: Process, number: int) -> bool:
    if not _is_still(process):
        return False
    try:
        os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
