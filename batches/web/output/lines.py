"""Line numbers of a spooled stream, counted by segment: what is full is counted once."""

from functools import lru_cache
from pathlib import Path

from batches.supervisor.layout import segment_name
from batches.supervisor.spool import segment_starts

_BLOCK = 1024 * 1024


def lines_before(run_dir: Path, stream: str, offset: int) -> int:
    """How many lines end before `offset`; those that were cut from the middle count as none."""
    folder = run_dir / stream
    total = 0
    for start in segment_starts(folder):
        if start >= offset:
            break
        size = _size(folder, start)
        within = min(size, offset - start)
        counted = _count_all if within == size else _count
        total += counted(str(folder / segment_name(start)), within)
    return total


def offset_of_line(run_dir: Path, stream: str, number: int) -> int:
    """Where the line with that number (from 1) begins; the end when there are fewer."""
    folder = run_dir / stream
    before = number - 1
    offset = 0
    for start in segment_starts(folder):
        size = _size(folder, start)
        count = _count_all(str(folder / segment_name(start)), size)
        if before <= count:
            return start + _nth_end(folder / segment_name(start), before)
        before -= count
        offset = start + size
    return offset


def _size(folder: Path, start: int) -> int:
    try:
        return (folder / segment_name(start)).stat().st_size
    except FileNotFoundError:  # cut from the middle since it was listed
        return 0


def _count(path: str, size: int) -> int:
    total = 0
    try:
        with open(path, "rb") as file:
            while size > 0 and (block := file.read(min(_BLOCK, size))):
                total += block.count(b"\n")
                size -= len(block)
    except FileNotFoundError:
        return 0
    return total


@lru_cache(maxsize=2048)
def _count_all(path: str, size: int) -> int:
    """A segment only grows, so its path and size say what is in it."""
    return _count(path, size)


def _nth_end(path: Path, count: int) -> int:
    """The offset just behind the newline number `count` (from 1); 0 for none."""
    if count <= 0:
        return 0
    position = 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                here = block.count(b"\n")
                if count <= here:
                    at = -1
                    for _ in range(count):
                        at = block.index(b"\n", at + 1)
                    return position + at + 1
                count -= here
                position += len(block)
    except FileNotFoundError:
        return 0
    return position
