"""A bounded piece of an agent's output, by line or byte, from either end."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.safestring import SafeString

from batches.shown import masked
from batches.supervisor import spool
from batches.supervisor.spool import Chunk, Reader
from batches.web.output.ansi import Painter
from batches.web.output.lines import lines_before

MAX_LINES = 1000
MAX_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Line:
    """`cut` bytes before it are gone. `open`: its newline has not come yet."""

    number: int
    offset: int
    html: SafeString
    cut: int = 0
    open: bool = False


@dataclass(frozen=True, kw_only=True)
class Window:
    """`start` and `end` are offsets; `next` is where a follower goes on."""

    stream: str
    start: int
    end: int
    next: int
    size: int
    above: int
    below: int
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class _Raw:
    offset: int
    data: bytes
    cut: int
    open: bool


def newest(run_dir: Path, stream: str, *, limit: int = MAX_LINES) -> Window:
    return before(run_dir, stream, spool.size(run_dir, stream), limit=limit)


def before(run_dir: Path, stream: str, end: int, *, limit: int = MAX_LINES) -> Window:
    """The last lines that begin before `end`."""
    start = max(0, end - MAX_BYTES)
    raw = list(_split(read(run_dir, stream, start, end - start)))
    if start > 0 and len(raw) > 1:
        raw = raw[1:]  # it may begin in the middle of a line
    return _window(run_dir, stream, raw[-limit:], at=start)


def after(run_dir: Path, stream: str, start: int, *, limit: int = MAX_LINES) -> Window:
    """The first lines from `start` on, which is where a line begins."""
    raw = list(_split(read(run_dir, stream, start, MAX_BYTES)))[:limit]
    size = spool.size(run_dir, stream)
    if len(raw) > 1 and raw[-1].open and raw[-1].offset + len(raw[-1].data) < size:
        raw = raw[:-1]  # it goes on behind what was read
    return _window(run_dir, stream, raw, at=start)


def read(run_dir: Path, stream: str, start: int, length: int) -> Iterator[Chunk]:
    end = start + length
    with closing(Reader(run_dir, stream, start)) as reader:
        while reader.offset < end and (chunk := reader.read(end - reader.offset)).data:
            if chunk.offset >= end:
                return  # all that was asked for is cut away
            yield masked(run_dir, chunk)


def _split(chunks: Iterator[Chunk]) -> Iterator[_Raw]:
    held, at, gone = b"", 0, 0
    for chunk in chunks:
        if chunk.cut and held:
            yield _Raw(at, held, gone, open=False)
            held, gone = b"", 0
        gone += chunk.cut
        at = at if held else chunk.offset
        *whole, held = (held + chunk.data).split(b"\n")
        for data in whole:
            yield _Raw(at, data, gone, open=False)
            at, gone = at + len(data) + 1, 0
    if held:
        yield _Raw(at, held, gone, open=True)


def _window(run_dir: Path, stream: str, raw: list[_Raw], *, at: int) -> Window:
    start = raw[0].offset if raw else at
    last = raw[-1] if raw else None
    end = last.offset + len(last.data) + (0 if last.open else 1) if last else at
    size = spool.size(run_dir, stream)
    above = lines_before(run_dir, stream, start)
    total = lines_before(run_dir, stream, size)
    painter = Painter()
    lines = [
        Line(
            number=above + place,
            offset=part.offset,
            html=painter.line(part.data.decode("utf-8", "replace")),
            cut=part.cut,
            open=part.open,
        )
        for place, part in enumerate(raw, start=1)
    ]
    shown = sum(not part.open for part in raw)
    return Window(
        stream=stream,
        start=start,
        end=end,
        next=last.offset if last and last.open else end,
        size=size,
        above=above,
        below=max(0, total - above - shown),
        lines=lines,
    )
