"""run_command and run_tests: a shell of its own process group, with a deadline and little output.

The group ends with the command; whatever moved elsewhere ends with the run, by its supervisor.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from batches.engines.builtin.tools.text import head_and_tail

POLL_S = 0.5
DRAIN_S = 0.3
PIECE = 65536


@dataclass(frozen=True)
class Done:
    """`code` is None when the deadline ended it."""

    code: int | None
    output: str


@dataclass
class _Kept:
    """The first and the last `half` bytes."""

    half: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    cut: int = 0

    def add(self, data: bytes) -> None:
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        excess = len(self.tail) - self.half
        if excess > 0:
            del self.tail[:excess]
            self.cut += excess

    def text(self) -> str:
        left_out = f"\n[{self.cut:,} bytes left out]\n".encode() if self.cut else b""
        return bytes(self.head + left_out + self.tail).decode("utf-8", "replace")


@dataclass(frozen=True)
class Shell:
    """`waiting` is called about twice a second."""

    tree: Path
    env: Mapping[str, str]
    waiting: Callable[[], None] = lambda: None

    def run(self, command: str, timeout_s: float, most: int) -> Done:
        """`most` characters of output."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.tree,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        kept = _Kept(most)
        try:
            in_time = self._follow(process, kept, time.monotonic() + timeout_s)
        finally:
            _end(process)
        return Done(process.returncode if in_time else None, head_and_tail(kept.text(), most))

    def _follow(self, process: subprocess.Popen[bytes], kept: _Kept, deadline: float) -> bool:
        """To the end of the shell, not of a child that it left behind with our pipe."""
        assert process.stdout is not None
        fd = process.stdout.fileno()
        os.set_blocking(fd, False)
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while process.poll() is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                if selector.select(min(left, POLL_S)) and not _take(fd, kept):
                    return _wait(process, deadline)
                self.waiting()
            drained = time.monotonic() + DRAIN_S
            while selector.select(0) and time.monotonic() < drained and _take(fd, kept):
                continue
        return True


def _wait(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """For a shell that closed its output."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _take(fd: int, kept: _Kept) -> bool:
    """False at the end of the output."""
    try:
        data = os.read(fd, PIECE)
    except BlockingIOError:
        return True
    kept.add(data)
    return bool(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group, also of a shell that ended: what it left in the background goes too."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:  # a program of another user (sudo); the shell itself is ours
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
