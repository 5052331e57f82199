"""Looks a text up in an agent's output, from its beginning, in bounded memory."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from batches.shown import masked
from batches.supervisor.spool import Reader
from batches.web.output.lines import lines_before
from tasks.text import clip, printable

MOST_HITS = 200
MAX_QUERY = 200
_BLOCK = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Hit:
    number: int
    offset: int
    text: str


def find(run_dir: Path, stream: str, wanted: str) -> tuple[list[Hit], bool]:
    """Lines that hold the text, whatever the case of ASCII letters; and whether there are more."""
    needle = wanted[:MAX_QUERY].encode().lower()
    if not needle:
        return [], False
    hits: list[Hit] = []
    for start, block in _blocks(run_dir, stream):
        number = None
        for offset, line in _matching(block, needle):
            if len(hits) == MOST_HITS:
                return hits, True
            # Counted from the last hit of this block on, so a block is counted once.
            if number is None:
                number = lines_before(run_dir, stream, start) + 1
                counted = 0
            number += block.count(b"\n", counted, offset)
            counted = offset
            text = clip(printable(line.decode("utf-8", "replace")), 300)
            hits.append(Hit(number=number, offset=start + offset, text=text))
    return hits, False


def _matching(block: bytes, needle: bytes) -> Iterator[tuple[int, bytes]]:
    lowered = block.lower()
    at = lowered.find(needle)
    while at >= 0:
        begin = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        yield begin, block[begin:end]
        at = lowered.find(needle, end)


def _blocks(run_dir: Path, stream: str) -> Iterator[tuple[int, bytes]]:
    """Whole lines each, with the offset of the first; a very long line may be split."""
    held, at = b"", 0
    with closing(Reader(run_dir, stream)) as reader:
        while (chunk := masked(run_dir, reader.read(_BLOCK))).data:
            if chunk.cut and held:
                yield at, held
                held = b""
            at = at if held else chunk.offset
            data = held + chunk.data
            end = data.rfind(b"\n") + 1
            if not end and len(data) < _BLOCK:
                held = data
                continue
            end = end or len(data)
            yield at, data[:end]
            at, held = at + end, data[end:]
    if held:
        yield at, held
