"""Requirement files of a tree: which others they pull in, and what in them leaves the tree."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from batches.provisioning.setup_command import Policy
from batches.provisioning.sources import is_allowed

MOST_FILES = 20
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)(?:\s+|=)(\S+)")
_INDEX = re.compile(r"(?:-i|--index-url|--extra-index-url|-f|--find-links)(?:\s+|=)(\S+)")
_ADDRESS = re.compile(r"(?:git\+)?[A-Za-z][A-Za-z0-9+.-]*:/*\S+")
_LOCAL = re.compile(r"(?:-e|--editable)(?:\s+|=)(?!\S*:)\S+|\.{0,2}/\S*|\.(?:\[.*\])?$|\.\.")
ReadText = Callable[[str], str | None]


class RequirementsRefused(ValueError):
    """The message names file and line."""


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Numbered from 1, without comments, continuation lines joined."""
    number, held = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = held + re.sub(r"(^|\s)#.*", "", raw).strip()
        if line.endswith("\\"):
            held = line[:-1] + " "
            continue
        held = ""
        if line:
            yield number, line
    if held.strip():
        yield number, held.strip()


def with_included(first: str, read: ReadText) -> dict[str, str]:
    """The file and all that it includes, by path in the tree. Raises RequirementsRefused."""
    found: dict[str, str] = {}
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        text = read(name)
        if text is None:
            raise RequirementsRefused(f"{name}: there is no such file in the tree.")
        if len(found) == MOST_FILES:
            raise RequirementsRefused(f"{first}: it includes more than {MOST_FILES} files.")
        found[name] = text
        for number, line in lines_of(text):
            if include := _INCLUDE.match(line):
                waiting.append(_beside(name, include[1], number))
    return found


def _beside(name: str, included: str, number: int) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(name).parent / included).parts:
        if part == ".." and parts:
            parts.pop()
        elif part in ("..", "/") or ":" in part:
            raise RequirementsRefused(f"{name}:{number}: {included} is outside of the tree.")
        else:
            parts.append(part)
    return "/".join(parts)


def refuse_foreign(files: dict[str, str], policy: Policy) -> None:
    """Indexes and addresses that the operator has not allowed. Raises RequirementsRefused."""
    for name, text in files.items():
        for number, line in lines_of(text):
            for address in _addresses(line):
                if not is_allowed(address, policy.addresses):
                    raise RequirementsRefused(
                        f"{name}:{number}: the operator has not allowed the address {address}."
                    )


def _addresses(line: str) -> Iterator[str]:
    if index := _INDEX.match(line):
        if ":" in index[1] or index[1].startswith("/"):
            yield index[1]
        return
    for word in line.split():
        if word.startswith("--hash"):
            continue
        if _ADDRESS.fullmatch(word):
            yield word.split("#")[0]


def local_line(files: dict[str, str]) -> str | None:
    """Where it installs from the tree itself, as `file:line`; None when it does not."""
    for name, text in files.items():
        for number, line in lines_of(text):
            if _LOCAL.match(line):
                return f"{name}:{number}"
    return None
