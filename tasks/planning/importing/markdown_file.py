"""Markdown checklists: `- [ ] title`, nested for sub-steps, numbered for an order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tasks.planning.importing.draft import Entry, Reference
from tasks.planning.importing.entries import MOST_TASKS
from tasks.planning.importing.notes import NoteError, split_notes
from tasks.planning.importing.problems import Problems, quoted
from tasks.planning.importing.source import Source
from tasks.planning.importing.tree import Node, Scalar

MOST_LINES = 200_000
DEEPEST = 25
# In markdown-it's levels a list and its item are one each, and a title is two more.
DEEPEST_TOKEN = 2 * DEEPEST + 1
TAB = 4

CHECKBOX = re.compile(r"\[([ xX])\](?:[ \t]+|\Z)")
NEARLY_CHECKBOX = re.compile(
    r"\[(?:\s*|\s*[xX]\s*|[-~])\](?:\s|\Z)"  # [] [-] [ x ]
    r"|\[[ xX]\](?![(\[:])\S"  # [ ]title, but not the links [x](a) [x][a] [x]: a
)
MARKERS = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)+")
INDENT = re.compile(r"[ \t]*")

# Blocks alone: titles are kept as written. A setext underline would make a heading of a title,
# and link definitions would vanish from descriptions.
PARSER = MarkdownIt("commonmark", {"maxNesting": DEEPEST_TOKEN + 10}).disable(
    ["inline", "text_join", "lheading", "reference"]
)


@dataclass(slots=True)
class _List:
    ordered: bool
    previous: int | None = None


@dataclass(slots=True)
class _Item:
    """A list item: the task it is, or else the one around it."""

    task: int | None
    width: int = 0


def read_checklists(source: Source, problems: Problems) -> list[Entry]:
    """Tasks in the order of the file, each before its sub-steps. Raises ImportErrors."""
    if source.line_count > MOST_LINES:
        raise problems.fatal(
            1, f"the file has {source.line_count:,} lines; the most is {MOST_LINES:,}"
        )
    reader = _Reader(source, problems)
    reader.read(PARSER.parse(source.text))
    if not reader.entries and not problems.found:
        problems.add(1, 'no tasks found: a task is a list item with a checkbox, "- [ ] title"')
    return reader.entries


class _Reader:
    def __init__(self, source: Source, problems: Problems) -> None:
        self.entries: list[Entry] = []
        self._problems = problems
        self._lines = source.text.split("\n")
        # Each line belongs to the innermost task around it.
        self._owners: list[int | None] = [None] * len(self._lines)
        self._widths: list[int] = []
        self._lists: list[_List] = []
        self._around: list[int | None] = [None]

    def read(self, tokens: list[Token]) -> None:
        for index, token in _outside_quotes(tokens):
            if token.level > DEEPEST_TOKEN:
                line = token.map[0] + 1 if token.map else 1
                raise self._problems.fatal(line, f"nested more than {DEEPEST} levels deep")
            if token.type in ("bullet_list_open", "ordered_list_open"):
                self._lists.append(_List(token.type == "ordered_list_open"))
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self._lists.pop()
            elif token.type == "list_item_open":
                self._open_item(token, tokens[index + 1 : index + 3])
            elif token.type == "list_item_close":
                self._around.pop()
        self._describe()

    def _open_item(self, token: Token, inner: list[Token]) -> None:
        around = self._around[-1]
        text = ""
        if inner[0].type == "paragraph_open":
            text = inner[1].content.split("\n", 1)[0]
        first, end = token.map or [0, 0]
        box = CHECKBOX.match(text)
        if box is None:
            self._around.append(around)
            if NEARLY_CHECKBOX.match(text):
                self._problems.add(
                    first + 1, f'{quoted(text)}: a checkbox is "[ ]" or "[x]" and a space'
                )
            return
        if len(self.entries) == MOST_TASKS:
            raise self._problems.fatal(first + 1, f"more than {MOST_TASKS:,} tasks in one file")
        index = len(self.entries)
        entry = self._entry(text[box.end() :], first + 1, done=box[1] != " ")
        entry.parent = around
        entry.starts_after = self._place_in_order(index, around)
        self.entries.append(entry)
        self._around.append(index)
        self._own(index, first, end)

    def _entry(self, text: str, line: int, *, done: bool) -> Entry:
        values: dict[str, Scalar] = {}
        try:
            text, values = split_notes(text)
        except NoteError as error:
            self._problems.add(line, f"task {quoted(text)}: {error}")
        references = []
        if "depends_on" in values:
            references.append(Reference(str(values.pop("depends_on")), line, list_of_names=True))
        values |= {"title": text, "done": done}
        members = {name: Node(value, line) for name, value in values.items()}
        return Entry(line, members, references=references)

    def _place_in_order(self, index: int, around: int | None) -> int | None:
        """In a numbered list the step before; else what the task around waits for, if anything.

        So a sub-step of step 2 waits for step 1 as step 2 does.
        """
        here = self._lists[-1]
        before, here.previous = here.previous, index
        if here.ordered and before is not None:
            return before
        return None if around is None else self.entries[around].starts_after

    def _own(self, index: int, first: int, end: int) -> None:
        markers = MARKERS.match(self._lines[first])
        self._widths.append(len(markers[0].expandtabs(TAB)) if markers else 0)
        self._owners[first] = None
        self._owners[first + 1 : end] = [index] * (end - first - 1)

    def _describe(self) -> None:
        lines: dict[int, list[str]] = {}
        for owner, line in zip(self._owners, self._lines, strict=True):
            if owner is not None:
                lines.setdefault(owner, []).append(_dedented(line, self._widths[owner]))
        for index, described in lines.items():
            text = "\n".join(_without_margin(described)).strip("\n")
            entry = self.entries[index]
            entry.members["description"] = Node(text, entry.line)


def _outside_quotes(tokens: list[Token]) -> Iterator[tuple[int, Token]]:
    """Lists in a block quote are quoted text, not tasks."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.type == "blockquote_open":
            depth += 1
        elif token.type == "blockquote_close":
            depth -= 1
        elif not depth:
            yield index, token


def _without_margin(lines: list[str]) -> list[str]:
    """Text indented by tabs lies deeper than its item asks for."""
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def _dedented(line: str, width: int) -> str:
    """Without the first `width` columns of indentation; a tab cut in two leaves spaces."""
    column = 0
    blank = INDENT.match(line)
    for index in range(blank.end() if blank else 0):
        if column >= width:
            return " " * (column - width) + line[index:]
        column += 1 if line[index] == " " else TAB - column % TAB
    return " " * max(0, column - width) + line[blank.end() if blank else 0 :]
