"""Notes in brackets at the end of a checklist title: (after: A, B) (key: x) (priority: 2)."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tasks.planning.importing.problems import nearest
from tasks.planning.importing.tree import Scalar, plain_scalar

NOTE = re.compile(r"\(\s*(?P<name>[A-Za-z][A-Za-z _-]{0,19}?)\s*:(?P<value>.*)\)", re.DOTALL)
HOURS = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(h|m)?")
HOURS_PER_UNIT = {"h": 1, None: 1, "m": 1 / 60}


def _estimate(text: str) -> Scalar:
    match = HOURS.fullmatch(text)
    return text if match is None else float(match[1]) * HOURS_PER_UNIT[match[2]]


@dataclass(frozen=True, slots=True)
class Meaning:
    field: str
    read: Callable[[str], Scalar]


MEANINGS = {
    "after": Meaning("depends_on", str),
    "key": Meaning("key", str),
    "priority": Meaning("priority", plain_scalar),
    "estimate": Meaning("estimated_hours", _estimate),
}


class NoteError(ValueError):
    """A note that is given twice, or is nearly one we know."""


def split_notes(text: str) -> tuple[str, dict[str, Scalar]]:
    """The title without its notes, and the notes as field -> value. Raises NoteError."""
    title = text.rstrip()
    notes: dict[str, Scalar] = {}
    while (start := _last_bracket(title)) is not None and (match := NOTE.match(title, start)):
        name = match["name"].casefold()
        if name not in MEANINGS:
            _refuse_near_miss(name)
            break
        meaning = MEANINGS[name]
        if meaning.field in notes:
            raise NoteError(f"({name}: ...) is given twice")
        notes[meaning.field] = meaning.read(match["value"].strip())
        title = title[:start].rstrip()
    return title, notes


def _last_bracket(title: str) -> int | None:
    """Where the bracket opens that the title's last character closes."""
    if not title.endswith(")"):
        return None
    # Brackets within quotes do not count, unless the quotes themselves do not pair up.
    start = _opening(title, quotes=True)
    return _opening(title, quotes=False) if start is None else start


def _opening(title: str, *, quotes: bool) -> int | None:
    depth, inside = 0, False
    for index in range(len(title) - 1, -1, -1):
        character = title[index]
        if quotes and character == '"':
            inside = not inside
        elif not inside and character in "()":
            depth += 1 if character == ")" else -1
            if not depth:
                return index
    return None


def _refuse_near_miss(name: str) -> None:
    if meant := nearest(name, MEANINGS):
        raise NoteError(f"({name}: ...) is not known; did you mean ({meant}: ...)?")
