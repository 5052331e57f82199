"""read_file."""

from pathlib import Path

from batches.engines.builtin.tools.jail import Jail, ToolError
from batches.engines.builtin.tools.text import clip_line, is_binary

MOST_BYTES = 10 * 1024 * 1024
MOST_LINES = 500
MOST_CHARACTERS = 50_000
FIRST = 200
LAST = 50
SNIFFED = 8192


def read_file(jail: Jail, path: str, start_line: int | None, end_line: int | None) -> str:
    """Numbered lines; the middle of a long file is left out, and said to be."""
    lines = read_text(jail, path).splitlines()
    if not lines:
        return "(the file is empty)"
    if start_line is None and end_line is None and len(lines) > MOST_LINES:
        return _ends(lines)
    first = start_line or 1
    last = min(len(lines), end_line or len(lines))
    if first > len(lines) or last < first:
        raise ToolError(f"There are no lines {first} to {end_line or 'the end'} of {len(lines)}.")
    return _numbered(lines, first, last)


def read_text(jail: Jail, path: str) -> str:
    """Raises ToolError for what is no text, or too much of it."""
    file = jail.file(path)
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise ToolError(f"{path!r} has {size:,} bytes; look at parts of it with run_command.")
    data = _bytes(file)
    if is_binary(data[:SNIFFED]):
        raise ToolError(f"{path!r} is a binary file of {size:,} bytes.")
    return data.decode("utf-8", "replace")


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES)
    except OSError as error:
        raise ToolError(f"{file.name!r} cannot be read: {error.strerror}.") from error


def _ends(lines: list[str]) -> str:
    left_out = len(lines) - FIRST - LAST
    middle = f"[{left_out:,} of {len(lines):,} lines left out; ask for them by number]"
    ends = _numbered(lines, 1, FIRST), _numbered(lines, len(lines) - LAST + 1, len(lines))
    return "\n".join((ends[0], middle, ends[1]))


def _numbered(lines: list[str], first: int, last: int) -> str:
    shown: list[str] = []
    room = MOST_CHARACTERS
    for number in range(first, last + 1):
        line = f"{number:>6}  {clip_line(lines[number - 1])}"
        room -= len(line) + 1
        if room < 0:
            shown.append(f"[the rest, lines {number} to {last}, left out; ask for them by number]")
            break
        shown.append(line)
    return "\n".join(shown)
