"""A hold on one run: the lock that says it is followed, and the eye on its supervisor's end."""

import fcntl
import os
import select
import subprocess
import threading
import time
from pathlib import Path

from batches.supervisor.identity import read_identity, supervisor_lives
from batches.supervisor.layout import FOLLOW_LOCK

_LOCK_POLL_S = 0.02
_unreaped: list[subprocess.Popen[bytes]] = []
_unreaped_lock = threading.Lock()


class Handle:
    """Made by start() and adopt(); for one follower at a time."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._started: subprocess.Popen[bytes] | None = None
        self._lock_fd = -1
        self._pidfd = -1
        self._guard = threading.Lock()

    def hold(self) -> None:
        """Shared with other followers; while anybody holds it the run is not an orphan."""
        with self._guard:
            if self._lock_fd < 0:
                path = self.run_dir / FOLLOW_LOCK
                self._lock_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._lock_fd, fcntl.LOCK_SH)

    def watch(self, started: subprocess.Popen[bytes]) -> None:
        self._started = started

    def let_go(self) -> None:
        with self._guard:
            for fd in (self._lock_fd, self._pidfd):
                if fd >= 0:
                    os.close(fd)
            self._lock_fd = self._pidfd = -1
            if self._started is not None:
                _reap_later(self._started)

    def wait_gone(self, timeout_s: float) -> bool:
        """True once the supervisor has ended, at once where the kernel has pidfds."""
        if self._pidfd < 0:
            self._pidfd = self._open_pidfd()
        if self._pidfd < 0:
            return self._poll_gone(timeout_s)
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        return bool(poller.poll(timeout_s * 1000))

    def _open_pidfd(self) -> int:
        pid = self._supervisor_pid()
        if not pid or not hasattr(os, "pidfd_open"):
            return -1
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:  # gone, or a kernel without: the lock tells
            return -1
        if self._supervisor_pid() == pid:  # so it was not recycled before the opening
            return pidfd
        os.close(pidfd)
        return -1

    def _supervisor_pid(self) -> int:
        """0 when it is gone, or when its pid means nothing here."""
        if self._started is not None:
            return self._started.pid if self._started.poll() is None else 0
        identity = read_identity(self.run_dir)
        if identity is None or not identity.is_local or not identity.supervisor.find():
            return 0
        return identity.supervisor.pid

    def _poll_gone(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self._lives():
            if time.monotonic() >= deadline:
                return False
            time.sleep(min(_LOCK_POLL_S, timeout_s))
        return True

    def _lives(self) -> bool:
        if self._started is not None:
            return self._started.poll() is None
        return supervisor_lives(self.run_dir)


def _reap_later(started: subprocess.Popen[bytes]) -> None:
    with _unreaped_lock:
        _unreaped.append(started)
    reap_ended()


def reap_ended() -> None:
    """A supervisor outlives the interest in it; its zombie should not."""
    with _unreaped_lock:
        _unreaped[:] = [started for started in _unreaped if started.poll() is None]
