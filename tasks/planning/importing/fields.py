"""The fields of a task: what each may hold, as a table."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tasks.planning.importing.draft import Entry, Reference
from tasks.planning.importing.problems import Problems, quoted
from tasks.planning.importing.tree import Node

TITLE_MAX = 500
KEY_MAX = 100
URL_MAX = 2_000
REQUIREMENTS_MAX = 100
HOURS_MAX = 100_000
INTEGER_MAX = 2_147_483_647

UNSEEN_IN_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
UNSEEN_IN_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Unfit(ValueError):
    """A value its field cannot hold; the message goes after the field's name."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


Reader = Callable[[Node], Any]


def _shown(node: Node) -> str:
    value = node.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return "nothing" if value is None else f"{value}"[:40]


def _text(node: Node, unseen: re.Pattern[str]) -> str:
    if not isinstance(node.value, str):
        hint = "" if isinstance(node.value, list | dict | None) else "; put it in quotes"
        raise Unfit(f"must be text, not {_shown(node)}{hint}")
    # Blank ends are no fault; a line break at the end of a block is how YAML writes one.
    text = node.value.strip("\n").rstrip()
    if match := unseen.search(text):
        raise Unfit(f"must not contain the character U+{ord(match[0]):04X}")
    return text


def block(node: Node) -> str:
    return _text(node, UNSEEN_IN_TEXT)


def line_of(most: int) -> Reader:
    def read(node: Node) -> str:
        text = _text(node, UNSEEN_IN_LINE).strip()
        if not any(c.isprintable() and not c.isspace() for c in text):
            raise Unfit("must not be empty")
        if len(text) > most:
            raise Unfit(f"has {len(text):,} characters; the most is {most:,}")
        return text

    return read


def whole(least: int, most: int) -> Reader:
    def read(node: Node) -> int:
        if not isinstance(node.value, int) or isinstance(node.value, bool):
            raise Unfit(f"must be a whole number, not {_shown(node)}")
        if not least <= node.value <= most:
            raise Unfit(f"must be from {least} to {most}, not {_shown(node)}")
        return node.value

    return read


def hours(node: Node) -> float:
    if not isinstance(node.value, int | float) or isinstance(node.value, bool):
        raise Unfit(f"must be a number of hours, not {_shown(node)}")
    # NaN is not within any limits either.
    if not 0 <= node.value <= HOURS_MAX:
        raise Unfit(f"must be from 0 to {HOURS_MAX:,} hours, not {_shown(node)}")
    return float(node.value)


def choice(*names: str) -> Reader:
    def read(node: Node) -> str:
        if not isinstance(node.value, str) or node.value not in names:
            raise Unfit(f"must be one of {', '.join(names)}, not {_shown(node)}")
        return node.value

    return read


def flag(node: Node) -> bool:
    if not isinstance(node.value, bool):
        raise Unfit(f"must be true or false, not {_shown(node)}")
    return node.value


def url(node: Node) -> str:
    text = str(line_of(URL_MAX)(node))
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in text
    except ValueError:
        fits = False
    if not fits:
        raise Unfit(f"must be a web address (http or https), not {quoted(text)}")
    return text


def list_of(read: Reader, what: str, *, most: int | None = None) -> Reader:
    def read_all(node: Node) -> tuple[Any, ...]:
        if not isinstance(node.value, list):
            raise Unfit(f"must be a list of {what}, not {_shown(node)}")
        if most is not None and len(node.value) > most:
            raise Unfit(f"has {len(node.value):,} entries; the most is {most}")
        return tuple(_entry(read, item) for item in node.value)

    return read_all


def _entry(read: Reader, item: Node) -> Any:
    try:
        return read(item)
    except Unfit as unfit:
        raise Unfit(f"entry {unfit}", line=item.line) from unfit


def reference(node: Node) -> Reference:
    return Reference(line_of(TITLE_MAX)(node), node.line)


FIELDS: dict[str, Reader] = {
    "title": line_of(TITLE_MAX),
    "key": line_of(KEY_MAX),
    "description": block,
    "depends_on": list_of(reference, "titles or keys"),
    "priority": whole(0, INTEGER_MAX),
    "estimated_hours": hours,
    "complexity_score": whole(1, 5),
    "uncertainty_level": choice("low", "medium", "high"),
    "requirement_ids": list_of(line_of(KEY_MAX), "ids", most=REQUIREMENTS_MAX),
    "github_issue_number": whole(1, INTEGER_MAX),
    "external_url": url,
    "expects_changes": flag,
    "done": flag,
}
# `children` is taken out of an entry before its fields are read; people may still misspell it.
NAMES = (*FIELDS, "children")


def read_fields(entry: Entry, problems: Problems) -> dict[str, Any]:
    """The values that fit, references excepted: those go to `entry.references`."""
    values: dict[str, Any] = {}
    for name, node in entry.members.items():
        if name not in FIELDS:
            hint = problems.suggestion(name, NAMES) or f"; the fields are {', '.join(NAMES)}"
            problems.add(node.line, f"{entry.label}: unknown field {quoted(name)}{hint}")
        elif node.value is not None:
            _read_field(name, node, entry, problems, values)
    if entry.members.get("title") is None or entry.members["title"].value is None:
        problems.add(entry.line, f"{entry.label}: title is missing")
    entry.references += values.pop("depends_on", ())
    return values


def _read_field(
    name: str, node: Node, entry: Entry, problems: Problems, values: dict[str, Any]
) -> None:
    try:
        values[name] = FIELDS[name](node)
    except Unfit as unfit:
        problems.add(unfit.line or node.line, f"{entry.label}: {name} {unfit}")
