"""A patch as git wrote it, taken apart into files, hunks and lines."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tasks.text import one_line, printable

_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
MAX_LINE = 2000


@dataclass(kw_only=True)
class DiffLine:
    """`kind` is same, added, deleted or note; `old` and `new` are line numbers where there are."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None
    html: str = ""


@dataclass(kw_only=True)
class Hunk:
    title: str
    lines: list[DiffLine] = field(default_factory=list)


@dataclass(kw_only=True)
class FileDiff:
    path: str
    notes: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)
    binary: bool = False
    added: int = 0
    deleted: int = 0
    change: str = "changed"


def parse(data: bytes) -> list[FileDiff]:
    """Never raises: what is not understood is left out, and names are made safe to show."""
    files: list[FileDiff] = []
    for head, body in _by_file(data.split(b"\n")):
        file = FileDiff(path=_path(head))
        _read_file(file, body)
        files.append(file)
    return files


def _by_file(lines: Iterable[bytes]) -> Iterator[tuple[bytes, list[bytes]]]:
    head, body = b"", list[bytes]()
    for line in lines:
        if line.startswith(b"diff --git "):
            if head:
                yield head, body
            head, body = line, []
        else:
            body.append(line)
    if head:
        yield head, body


def _read_file(file: FileDiff, lines: list[bytes]) -> None:
    hunk: Hunk | None = None
    old = new = 0
    for line in lines:
        match = _HUNK.match(line)
        if match:
            old, new = int(match[1]), int(match[2])
            hunk = Hunk(title=one_line(_text(line)))
            file.hunks.append(hunk)
        elif hunk is None:
            _read_header(file, line)
            if file.binary:
                return
        elif line[:1] in b"+- \\" and line:
            old, new = _read_line(file, hunk, line, old, new)


def _read_header(file: FileDiff, line: bytes) -> None:
    if line.startswith((b"GIT binary patch", b"Binary files ")):
        file.binary = True
    elif line.startswith(b"new file mode "):
        file.change = "added"
        file.notes += [_text(line)] if not line.endswith(b"100644") else []
    elif line.startswith(b"deleted file mode "):
        file.change = "deleted"
    elif line.startswith((b"old mode ", b"new mode ")):
        file.notes.append(_text(line))


def _read_line(file: FileDiff, hunk: Hunk, line: bytes, old: int, new: int) -> tuple[int, int]:
    mark, text = line[:1], _text(line[1:])
    if mark == b"+":
        hunk.lines.append(DiffLine(kind="added", text=text, new=new))
        file.added += 1
        return old, new + 1
    if mark == b"-":
        hunk.lines.append(DiffLine(kind="deleted", text=text, old=old))
        file.deleted += 1
        return old + 1, new
    if mark == b"\\":
        hunk.lines.append(DiffLine(kind="note", text=text.strip()))
        return old, new
    hunk.lines.append(DiffLine(kind="same", text=text, old=old, new=new))
    return old + 1, new + 1


def _path(head: bytes) -> str:
    """`diff --git a/P b/P`: renames are never asked for, so both halves name the same file."""
    names = head.removeprefix(b"diff --git ")
    half = names[: (len(names) - 1) // 2]
    if half.startswith(b'"'):
        half = codecs.escape_decode(half.strip(b'"'))[0]
    return one_line(half.removeprefix(b"a/").decode("utf-8", "replace"))


def _text(line: bytes) -> str:
    text = printable(line.rstrip(b"\r").decode("utf-8", "replace"))
    return text if len(text) <= MAX_LINE else text[:MAX_LINE] + " … cut"
