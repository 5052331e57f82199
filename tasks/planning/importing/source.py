"""The text of a task file, and where in it an offset lies."""

import re
from array import array
from bisect import bisect_left

from tasks.planning.importing.problems import Problems

MOST_BYTES = 5 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
# Characters no editor shows: kept out before any parser meets them.
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")


class Source:
    """Lines and columns count from 1 and lines end with \\n alone, as an editor shows them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._ends = array("I", (match.start() for match in re.finditer("\n", text)))

    @property
    def line_count(self) -> int:
        return len(self._ends) + 1

    def line(self, offset: int) -> int:
        return bisect_left(self._ends, offset) + 1

    def column(self, offset: int) -> int:
        line = self.line(offset)
        return offset + 1 if line == 1 else offset - self._ends[line - 2]


def read_source(data: bytes, problems: Problems) -> Source:
    """Raises ImportErrors when the bytes are too many, not UTF-8, or hold unseen characters."""
    if len(data) > MOST_BYTES:
        raise problems.fatal(1, f"the file has {len(data):,} bytes; the most is {MOST_BYTES:,}")
    data = data.removeprefix(BOM)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problems.fatal(line, f"not UTF-8 text (byte 0x{data[error.start]:02X})") from error
    source = Source(text.replace("\r\n", "\n").replace("\r", "\n"))
    _refuse_unseen(source, problems)
    return source


def _refuse_unseen(source: Source, problems: Problems) -> None:
    for match in UNSEEN.finditer(source.text):
        start = match.start()
        problems.add(
            source.line(start),
            f"control character U+{ord(match[0]):04X}",
            column=source.column(start),
        )
        if problems.full:
            break
    problems.check()
