"""The one door through which our own short tools are run."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tasks.turnstile import aside

OUTPUT_LIMIT = 64 * 1024 * 1024
PASSED_ON = ("PATH", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_CHUNK = 1 << 16
_TICK_S = 0.1
_Argument = str | bytes | os.PathLike[str]


class CommandError(Exception):
    """A command that could not be run to its end; the message is one line for a person."""


class CommandNotFound(CommandError):
    """The program does not exist or may not be executed."""


class CommandTimeout(CommandError):
    """The program was killed because it ran longer than its limit."""


class OutputTooLarge(CommandError):
    """The program was killed because it wrote more than we are willing to hold in memory."""


@dataclass(frozen=True, kw_only=True)
class Completed:
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        return self.code == 0


def base_environment() -> dict[str, str]:
    """What every tool may see of our own environment; never a secret."""
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **passed}


def run(
    argv: Sequence[_Argument],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    input: bytes | None = None,
    output: Path | None = None,
    output_limit: int = OUTPUT_LIMIT,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Run to the end with exactly this environment; a non-zero code is returned, not raised.

    With `output`, stdout goes to that file, of any size, and `Completed.stdout` is empty.
    Raises CommandNotFound, CommandTimeout, OutputTooLarge, CommandError.
    """
    deadline = time.monotonic() + timeout_s
    with contextlib.ExitStack() as stack:
        sink: int | IO[bytes] = subprocess.PIPE
        if output is not None:
            sink = stack.enter_context(output.open("wb"))
        process = stack.enter_context(_start(argv, cwd, env, input, sink, pass_fds))
        stack.callback(_end_group, process)
        pump = stack.enter_context(contextlib.closing(_Pump(process, input or b"", output_limit)))
        try:
            with aside():
                pump.until(deadline)
        except TimeoutError:
            raise CommandTimeout(f"{_name(argv)} was stopped after {timeout_s:g} s.") from None
        except BufferError:
            raise OutputTooLarge(
                f"{_name(argv)} was stopped: it wrote more than {output_limit} bytes."
            ) from None
    return Completed(code=process.wait(), stdout=pump.stdout, stderr=pump.stderr)


def _start(
    argv: Sequence[_Argument],
    cwd: Path,
    env: Mapping[str, str],
    input: bytes | None,
    sink: int | IO[bytes],
    pass_fds: Sequence[int],
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            [os.fspath(part) for part in argv],
            cwd=os.fspath(cwd),
            env=dict(env),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=pass_fds,
            bufsize=0,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        if error.filename == os.fspath(cwd):
            raise CommandError(f"{_name(argv)} cannot start in {cwd}: {error.strerror}.") from error
        raise CommandNotFound(f"{_name(argv)} cannot be run: {error.strerror}.") from error
    except (OSError, ValueError) as error:
        raise CommandError(f"{_name(argv)} cannot be started: {error}.") from error


def _name(argv: Sequence[_Argument]) -> str:
    return ascii(os.fsdecode(argv[0])).strip("'")


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the session, background children too, and reap the leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Pump:
    """Feeds and drains the pipes of one process with bounded memory."""

    def __init__(self, process: "subprocess.Popen[bytes]", input: bytes, limit: int) -> None:
        self._process = process
        self._left = memoryview(input)
        self._limit = limit
        self._collected = {process.stdout: bytearray(), process.stderr: bytearray()}
        # Readable once the process has ended; elsewhere than on Linux we look every tick.
        self._exit_fd = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        self._selector = selectors.DefaultSelector()
        for source in (process.stdout, process.stderr, self._exit_fd):
            if source is not None:
                self._selector.register(source, selectors.EVENT_READ)
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)
            self._selector.register(process.stdin, selectors.EVENT_WRITE)

    @property
    def stdout(self) -> bytes:
        return bytes(self._collected[self._process.stdout]) if self._process.stdout else b""

    @property
    def stderr(self) -> bytes:
        return bytes(self._collected[self._process.stderr])

    def close(self) -> None:
        self._selector.close()
        if self._exit_fd is not None:
            os.close(self._exit_fd)

    def until(self, deadline: float) -> None:
        """Return when the process has ended and its output is read.

        Raises TimeoutError, and BufferError when there is more output than the limit.
        """
        ended = False
        while not ended:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready = self._move_ready(min(left, _TICK_S))
            ended = self._exit_fd in ready or (
                self._exit_fd is None and self._process.poll() is not None
            )
        # A background child may hold the pipes open: take what is there, then leave.
        while self._move_ready(0) and time.monotonic() < deadline:
            continue

    def _move_ready(self, timeout_s: float) -> list[object]:
        ready = [key.fileobj for key, _ in self._selector.select(timeout_s)]
        for source in ready:
            if source == self._exit_fd or self._move(source):  # type: ignore[arg-type]
                self._selector.unregister(source)
        return list(ready)

    def _move(self, pipe: IO[bytes]) -> bool:
        return self._write(pipe) if pipe is self._process.stdin else self._read(pipe)

    def _write(self, pipe: IO[bytes]) -> bool:
        try:
            self._left = self._left[os.write(pipe.fileno(), self._left[:_CHUNK]) :]
        except BrokenPipeError:
            self._left = self._left[:0]  # it did not want all of its input; its exit code tells
        if not self._left:
            pipe.close()
        return not self._left

    def _read(self, pipe: IO[bytes]) -> bool:
        data = os.read(pipe.fileno(), _CHUNK)
        collected = self._collected[pipe]
        collected += data
        if len(collected) > self._limit:
            raise BufferError
        return not data
