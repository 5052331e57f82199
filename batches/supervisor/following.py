"""Follows a run to its end: hands on its output, passes on a stop, and says how it ended."""

import time
from collections.abc import Callable
from pathlib import Path

from batches.supervisor.handle import Handle
from batches.supervisor.layout import LOG, STREAMS
from batches.supervisor.leftovers import kill_leftovers
from batches.supervisor.record import Cause, ExitRecord, read_exit
from batches.supervisor.spool import Chunk, Reader, size
from batches.supervisor.stopping import StopRequest, stop

_LOG_TAIL_BYTES = 2000


def follow(
    handle: Handle,
    *,
    on_output: Callable[[Chunk], None],
    should_stop: Callable[[], StopRequest | None],
    offsets: dict[str, int],
    poll_s: float = 0.1,
) -> ExitRecord:
    """Hand on all output from `offsets`, which move along, until the run has ended.

    `should_stop` is asked about every `poll_s`. What the callbacks raise ends the following, not
    the run: the way to let go of it from inside.
    """
    handle.hold()
    output = _Output(handle.run_dir, on_output, offsets)
    stopping = _Stopping(handle.run_dir, should_stop, poll_s)
    more = False
    try:
        while not handle.wait_gone(0 if more else poll_s):
            more = output.hand_on_some()
            stopping.ask_when_due()
        record = read_exit(handle.run_dir) or _lost(handle.run_dir)
        output.hand_on_rest(record)
        return record
    finally:
        output.close()
        handle.let_go()


class _Output:
    def __init__(
        self, run_dir: Path, on_output: Callable[[Chunk], None], offsets: dict[str, int]
    ) -> None:
        self._readers = [Reader(run_dir, name, offsets.get(name, 0)) for name in STREAMS]
        self._on_output = on_output
        self._offsets = offsets

    def hand_on_some(self) -> bool:
        """One piece of each stream, so that a flood of output cannot hold up a stop."""
        some = False
        for reader in self._readers:
            some |= self._hand_on(reader.read())
        return some

    def hand_on_rest(self, record: ExitRecord) -> None:
        """The record knows of bytes that were lost at the very end, behind the last segment."""
        while self.hand_on_some():
            continue
        totals = (record.stdout_bytes, record.stderr_bytes)
        for reader, total in zip(self._readers, totals, strict=True):
            if (missing := total - reader.offset) > 0:
                self._hand_on(Chunk(reader.stream, total, b"", cut=missing))

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    def _hand_on(self, chunk: Chunk) -> bool:
        if not chunk.data and not chunk.cut:
            return False
        self._on_output(chunk)
        self._offsets[chunk.stream] = chunk.end
        return True


class _Stopping:
    def __init__(
        self, run_dir: Path, should_stop: Callable[[], StopRequest | None], poll_s: float
    ) -> None:
        self._run_dir = run_dir
        self._should_stop = should_stop
        self._poll_s = poll_s
        self._due = 0.0
        self._passed_on: StopRequest | None = None

    def ask_when_due(self) -> None:
        if time.monotonic() < self._due:
            return
        request = self._should_stop()
        self._due = time.monotonic() + self._poll_s
        if request is not None and request.is_stronger_than(self._passed_on):
            self._pass_on(request)

    def _pass_on(self, request: StopRequest) -> None:
        try:
            stop(self._run_dir, reason=request.reason, grace_s=request.grace_s)
        except OSError:  # full disk, and no supervisor to signal yet (or any more): asked again
            return
        self._passed_on = request


def _lost(run_dir: Path) -> ExitRecord:
    left = kill_leftovers(run_dir)
    stdout, stderr = (size(run_dir, name) for name in STREAMS)
    return ExitRecord(
        cause=Cause.LOST,
        reason=_last_words(run_dir),
        ended_at=time.time(),
        stdout_bytes=stdout,
        stderr_bytes=stderr,
        killed=left.killed,
        survivors=left.survivors,
    )


def _last_words(run_dir: Path) -> str:
    try:
        log = (run_dir / LOG).read_bytes()
    except FileNotFoundError:
        log = b""
    lines = log[-_LOG_TAIL_BYTES:].decode("utf-8", "replace").strip().splitlines()
    return ": ".join(["the supervisor died without an exit record", *lines[-1:]])
