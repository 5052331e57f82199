"""Reads what a supervisor spooled: bounded pieces from any offset, while it is still written to."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from batches.supervisor.layout import segment_name

READ_LIMIT = 1024 * 1024


@dataclass(frozen=True)
class Chunk:
    """`data` starts at `offset` of its stream; the `cut` bytes just before it are gone."""

    stream: str
    offset: int
    data: bytes
    cut: int = 0

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


class Reader:
    """Follows one stream with its newest segment held open. Not for two threads at once."""

    def __init__(self, run_dir: Path, stream: str, offset: int = 0) -> None:
        self.stream = stream
        self.offset = offset
        self._folder = run_dir / stream
        self._start = 0
        self._fd = -1

    def read(self, limit: int = READ_LIMIT) -> Chunk:
        """What comes next, perhaps behind a gap; empty data when there is nothing more yet."""
        while True:
            try:
                return self._read_open(limit) or self._read_listed(limit)
            except FileNotFoundError:  # cut from the middle since it was listed
                continue

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read_open(self, limit: int) -> Chunk | None:
        return self._read_at(self.offset, limit) if self._fd >= 0 else None

    def _read_listed(self, limit: int) -> Chunk:
        # Listed before it is read: a segment with a successor in the list will not grow any more,
        # so what it lacks is a gap.
        for start in self._candidates():
            self._open(start)
            if chunk := self._read_at(max(self.offset, start), limit):
                return chunk
        return Chunk(self.stream, self.offset, b"")

    def _candidates(self) -> list[int]:
        starts = segment_starts(self._folder)
        return starts[max(0, bisect_right(starts, self.offset) - 1) :]

    def _open(self, start: int) -> None:
        if self._fd >= 0 and self._start == start:
            return
        self.close()
        self._fd = os.open(self._folder / segment_name(start), os.O_RDONLY | os.O_CLOEXEC)
        self._start = start

    def _read_at(self, offset: int, limit: int) -> Chunk | None:
        data = os.pread(self._fd, limit, offset - self._start)
        if not data:
            return None
        chunk = Chunk(self.stream, offset, data, cut=offset - self.offset)
        self.offset = chunk.end
        return chunk


def segment_starts(folder: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdigit())  # noqa: PTH208
    except FileNotFoundError:  # made with the stream's first byte
        return []


def read(run_dir: Path, stream: str, offset: int, limit: int = READ_LIMIT) -> Chunk:
    with closing(Reader(run_dir, stream, offset)) as reader:
        return reader.read(limit)


def tail(run_dir: Path, stream: str, max_bytes: int) -> Chunk:
    """The newest `max_bytes` at most, without a gap inside; `cut` counts a gap just before."""
    tail = Chunk(stream, 0, b"")
    for chunk in _chunks(run_dir, stream, max(0, size(run_dir, stream) - max_bytes), max_bytes):
        joined = chunk if chunk.cut or not tail.data else _join(tail, chunk)
        tail = _newest(joined, max_bytes)
    return tail


def size(run_dir: Path, stream: str) -> int:
    """The offset behind the last byte spooled."""
    folder = run_dir / stream
    while starts := segment_starts(folder):
        try:
            return starts[-1] + (folder / segment_name(starts[-1])).stat().st_size
        except FileNotFoundError:
            continue
    return 0


def _chunks(run_dir: Path, stream: str, offset: int, limit: int) -> Iterator[Chunk]:
    with closing(Reader(run_dir, stream, offset)) as reader:
        while (chunk := reader.read(limit)).data:
            yield chunk


def _join(first: Chunk, second: Chunk) -> Chunk:
    return Chunk(first.stream, first.offset, first.data + second.data, first.cut)


def _newest(chunk: Chunk, max_bytes: int) -> Chunk:
    excess = len(chunk.data) - max_bytes
    if excess <= 0:
        return chunk
    return Chunk(chunk.stream, chunk.offset + excess, chunk.data[excess:])
