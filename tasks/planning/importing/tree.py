"""The common shape of YAML and JSON files: values that know their line."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from tasks.planning.importing.problems import Problems, quoted
from tasks.planning.importing.source import Source

DEEPEST = 64
MOST_NODES = 500_000
MOST_DIGITS = 40

Scalar: TypeAlias = str | int | float | bool | None

WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
WHOLE = re.compile(r"([-+]?)0*([0-9]+)")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def plain_scalar(text: str) -> Scalar:
    """An unquoted word or number, by YAML 1.2's core schema: `no` and `12:30` stay text."""
    if text in WORDS:
        return WORDS[text]
    if whole := WHOLE.fullmatch(text):
        # Cut digits still leave a number that is out of every field's range.
        return int(whole[1] + whole[2][:MOST_DIGITS])
    return float(text) if DECIMAL.fullmatch(text) else text


@dataclass(slots=True)
class Node:
    """A member of a mapping has the line of its name."""

    value: "Scalar | list[Node] | dict[str, Node]"
    line: int


class TreeBuilder:
    """Takes a parser's events and refuses what is too deep, too much or named twice."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.root: Node | None = None
        self._source = source
        self._problems = problems
        self._open: list[Node] = []
        self._names: list[Node | None] = []
        self._count = 0

    @property
    def wants_name(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and not self._names[-1]

    def open(self, value: list[Node] | dict[str, Node], offset: int) -> None:
        if self.wants_name:
            raise self.refusal(offset, "the name of a field must be text")
        if len(self._open) == DEEPEST:
            raise self.refusal(offset, f"nested more than {DEEPEST} levels deep")
        self._open.append(self._add(value, offset))
        self._names.append(None)

    def close(self) -> None:
        self._open.pop()
        self._names.pop()

    def scalar(self, value: Scalar, offset: int) -> None:
        if self.wants_name:
            self._names[-1] = Node(value, self._source.line(offset))
        else:
            self._add(value, offset)

    def refusal(self, offset: int, message: str) -> Exception:
        return self._problems.fatal(
            self._source.line(offset), message, column=self._source.column(offset)
        )

    def _add(self, value: Scalar | list[Node] | dict[str, Node], offset: int) -> Node:
        self._count += 1
        if self._count > MOST_NODES:
            raise self.refusal(offset, f"more than {MOST_NODES:,} values in one file")
        node = Node(value, self._source.line(offset))
        if not self._open:
            self.root = node
        elif isinstance(parent := self._open[-1].value, list):
            parent.append(node)
        elif isinstance(parent, dict):
            self._add_member(parent, node)
        return node

    def _add_member(self, members: dict[str, Node], node: Node) -> None:
        name = self._names[-1]
        self._names[-1] = None
        assert name is not None
        node.line = name.line
        if (first := members.setdefault(str(name.value), node)) is not node:
            self._problems.add(
                name.line, f"{quoted(str(name.value))} is given twice, first on line {first.line}"
            )
