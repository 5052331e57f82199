"""Requirement files of a tree: which others they pull in, and what in them leaves the tree."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from batches.provisioning.setup_command import Policy
from batches.provisioning.sources import is_allowed

MOST_FILES = 20
_INCLUDES = ("-r", "-c", "--requirement", "--constraint")
_OPTIONS = (
    *_INCLUDES,
    *("-e", "--editable", "-i", "--index-url", "--extra-index-url", "-f", "--find-links"),
    *("--no-index", "--pre", "--prefer-binary", "--require-hashes", "--only-binary"),
    *("--no-binary", "--hash"),
)
"""In full: pip takes any beginning of an option's name too, and a value glued to a letter."""
_ADDRESS = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:/|file:|//)\S*")
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
            waiting += [_beside(name, included, number) for included in _included(line)]
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


def _included(line: str) -> Iterator[str]:
    words = iter(line.split())
    for word in words:
        name, equals, value = word.partition("=")
        if name in _INCLUDES:
            yield value if equals else next(words, "")


def refuse_foreign(files: dict[str, str], policy: Policy) -> None:
    """Addresses that the operator has not allowed, and options that could hide one.

    Raises RequirementsRefused.
    """
    for name, text in files.items():
        for number, line in lines_of(text):
            for word in line.split():
                if word.startswith("-") and word.partition("=")[0] not in _OPTIONS:
                    raise RequirementsRefused(f"{name}:{number}: the option {word} is not allowed.")
            for found in _ADDRESS.finditer(line):
                address = found[0].split("#")[0].strip("'\"")
                if not is_allowed(address, policy.addresses):
                    raise RequirementsRefused(
                        f"{name}:{number}: the operator has not allowed the address {address}."
                    )


def local_line(files: dict[str, str]) -> str | None:
    """Where it installs from the tree itself, as `file:line`; None when it does not."""
    for name, text in files.items():
        for number, line in lines_of(text):
            if _LOCAL.match(line):
                return f"{name}:{number}"
    return None
