"""create_file and edit_file."""

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from batches.engines.builtin.tools.jail import Jail, ToolError
from batches.engines.builtin.tools.read import read_text

MOST_BYTES = 5 * 1024 * 1024


def create_file(jail: Jail, path: str, content: str) -> str:
    file = jail.writable(path)
    if file.exists():
        raise ToolError(f"{path!r} exists already; use edit_file.")
    data = _encoded(content)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as opened:
            opened.write(data)
    except OSError as error:
        raise ToolError(f"{path!r} cannot be written: {error.strerror}.") from error
    return f"Created {jail.name(file)}, {len(data):,} bytes."


def edit_file(jail: Jail, path: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """All of the edits or none."""
    file = jail.writable(path)
    read_text(jail, path)  # refuses what is no text, or too long
    raw = _decoded(file, path)
    windows = "\r\n" in raw
    text = raw.replace("\r\n", "\n") if windows else raw
    for number, edit in enumerate(edits, 1):
        text = _apply(text, edit, number)
    _replace(file, _encoded(text.replace("\n", "\r\n") if windows else text), path)
    return f"Edited {jail.name(file)}, {len(edits)} change{'s' if len(edits) != 1 else ''}."


def _decoded(file: Path, path: str) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"{path!r} is not UTF-8, so it cannot be edited as text.") from None


def _apply(text: str, edit: Mapping[str, Any], number: int) -> str:
    search, replace = (_unix(edit.get(name)) for name in ("search", "replace"))
    if not search:
        raise ToolError(f"Edit {number}: search is empty.")
    found = text.count(search)
    if found == 1:
        return text.replace(search, replace)
    if found > 1:
        raise ToolError(f"Edit {number}: search is found {found} times; give more lines around it.")
    return _apply_loosely(text, search, replace, number)


def _unix(value: object) -> str:
    if not isinstance(value, str):
        raise ToolError("Every edit has a search and a replace, which are texts.")
    return value.replace("\r\n", "\n")


def _apply_loosely(text: str, search: str, replace: str, number: int) -> str:
    """By whole lines, without the blanks at their ends; indentation must be right."""
    lines = text.splitlines(keepends=True)
    wanted = [line.rstrip() for line in search.strip("\n").split("\n")]
    bare = [line.rstrip() for line in lines]
    places = [i for i in range(len(bare)) if bare[i : i + len(wanted)] == wanted]
    if len(places) != 1:
        found = "is not in the file" if not places else f"is found {len(places)} times"
        raise ToolError(f"Edit {number}: search {found}; read the file again.")
    start, end = places[0], places[0] + len(wanted)
    new = replace.strip("\n") + "\n" if replace.strip("\n") else ""
    if end == len(lines) and not lines[-1].endswith("\n"):
        new = new.removesuffix("\n")
    return "".join([*lines[:start], new, *lines[end:]])


def _encoded(text: str) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f"The text is no valid Unicode: {error.reason}.") from error
    if len(data) > MOST_BYTES:
        raise ToolError(f"The text has {len(data):,} bytes; the most is {MOST_BYTES:,}.")
    return data


def _replace(file: Path, data: bytes, path: str) -> None:
    """Whole or not at all, with the permissions it had."""
    try:
        mode = file.stat().st_mode & 0o7777
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:100]}.")
        part = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(data)
            part.chmod(mode)
            part.replace(file)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
            raise
    except OSError as error:
        raise ToolError(f"{path!r} cannot be written: {error.strerror}.") from error
