"""search_codebase."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from types import FrameType

from batches.engines.builtin.tools.jail import Jail, ToolError
from batches.engines.builtin.tools.listing import PASSED_OVER
from batches.engines.builtin.tools.read import SNIFFED
from batches.engines.builtin.tools.text import clip_line, is_binary

MOST_BYTES = 1024 * 1024
MOST_LINE = 300
DEADLINE_S = 15


class _TooLong(Exception):
    pass


def search_codebase(jail: Jail, pattern: str, file_glob: str | None, max_results: int) -> str:
    """`path:line: text` of lines that match. Files above 1 MiB and binary ones are passed over."""
    try:
        expression = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(f"{pattern!r} is no regular expression: {error}.") from error
    found: list[str] = []
    try:
        with _deadline():
            for line in _matches(jail.tree, expression, file_glob):
                found.append(line)
                if len(found) >= max_results:
                    found.append(f"[stopped at {max_results} results]")
                    break
    except _TooLong:
        found.append(f"[stopped after {DEADLINE_S} s]")
    return "\n".join(found) or "(nothing found)"


def _matches(tree: Path, expression: re.Pattern[str], glob: str | None) -> Iterator[str]:
    for file in _files(tree):
        name = file.relative_to(tree).as_posix()
        if glob is not None and not fnmatch(name, glob) and not fnmatch(file.name, glob):
            continue
        for number, line in enumerate(_lines(file), 1):
            if expression.search(line):
                yield f"{name}:{number}: {clip_line(line.strip(), MOST_LINE)}"


def _files(tree: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in PASSED_OVER)
        for name in sorted(names):
            file = Path(folder) / name
            if not file.is_symlink() and file.is_file():
                yield file


def _lines(file: Path) -> list[str]:
    try:
        if file.stat().st_size > MOST_BYTES:
            return []
        data = file.read_bytes()
    except OSError:  # unreadable, or gone meanwhile
        return []
    return [] if is_binary(data[:SNIFFED]) else data.decode("utf-8", "replace").splitlines()


@contextmanager
def _deadline() -> Iterator[None]:
    """Interrupts a match too: an expression can take for ever on one line."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
