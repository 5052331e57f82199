"""Names in `depends_on` become indexes, or ids of tasks that exist already."""

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from tasks.planning.graph import find_cycle
from tasks.planning.importing.draft import Entry, Reference
from tasks.planning.importing.problems import Problems, quoted

MOST_REFERENCES = 100_000
# How many commas a name may have and still be found in a list that commas separate.
LONGEST_NAME = 20
MOST_CYCLES = 20
SHOWN_OF_CYCLE = 8
PIECE = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"\s*(?=,|\Z)|(?P<plain>[^,]*))(?:,|\Z)')


class Names:
    """Every name a reference may use: the file's own first, then those known from outside."""

    def __init__(self, fields: list[dict[str, Any]], known: Mapping[str, Hashable]) -> None:
        self.known = known
        self.keys: dict[str, int] = {}
        self.titles: dict[str, int] = {}
        for index, values in enumerate(fields):
            if "key" in values:
                self.keys.setdefault(values["key"], index)
            if "title" in values:
                self.titles.setdefault(values["title"], index)

    def __contains__(self, name: str) -> bool:
        return name in self.keys or name in self.titles or name in self.known

    def __iter__(self) -> Iterator[str]:
        yield from self.keys
        yield from self.titles
        yield from self.known

    def split(self, text: str) -> Iterator[str]:
        """The names in a comma-separated list: quoted as they stand, else the longest that fits."""
        pieces = [piece for piece in PIECE.finditer(text) if piece[0] or not piece.start()]
        at = 0
        while at < len(pieces):
            if (literal := pieces[at]["quoted"]) is not None:
                yield literal
                at += 1
            else:
                name, used = self._longest(text, pieces, at)
                yield name
                at += used

    def _longest(self, text: str, pieces: list[re.Match[str]], at: int) -> tuple[str, int]:
        first = pieces[at]["plain"].strip()
        best = first, 1
        for end in range(at + 1, min(at + LONGEST_NAME + 1, len(pieces))):
            if pieces[end]["plain"] is None:
                break
            name = text[pieces[at].start("plain") : pieces[end].end("plain")].strip()
            if name in self:
                best = name, end - at + 1
        return best


class Resolver:
    """Finds every dependency of every task and says what does not resolve."""

    def __init__(
        self,
        entries: list[Entry],
        fields: list[dict[str, Any]],
        known: Mapping[str, Hashable],
        problems: Problems,
    ) -> None:
        self._entries = entries
        self._titles = [values.get("title") for values in fields]
        self._names = Names(fields, known)
        self._problems = problems
        self.edges: dict[int, dict[int, None]] = {index: {} for index in range(len(entries))}
        self.outside: dict[int, dict[Hashable, None]] = {index: {} for index in self.edges}

    def resolve(self) -> None:
        self._add_structure()
        count = 0
        for index, entry in enumerate(self._entries):
            for reference in self._references(entry):
                count += 1
                if count > MOST_REFERENCES:
                    raise self._problems.fatal(
                        reference.line, f"more than {MOST_REFERENCES:,} dependencies in one file"
                    )
                self._add_reference(index, reference)
        self._refuse_cycles()

    def _add_structure(self) -> None:
        """A task waits for its children, and in a numbered list for the one before."""
        for index, entry in enumerate(self._entries):
            if entry.parent is not None:
                self.edges[entry.parent][index] = None
            if entry.starts_after is not None:
                self.edges[index][entry.starts_after] = None

    def _references(self, entry: Entry) -> Iterator[Reference]:
        for reference in entry.references:
            if not reference.list_of_names:
                yield reference
                continue
            for name in self._names.split(reference.text):
                yield Reference(name, reference.line)

    def _add_reference(self, index: int, reference: Reference) -> None:
        name = reference.text
        by_key, by_title = self._names.keys.get(name), self._names.titles.get(name)
        target = by_title if by_key is None else by_key
        if not name:
            self._refuse(index, reference, "depends_on has an empty name")
        elif by_key is not None and by_title is not None and by_key != by_title:
            self._refuse(index, reference, self._ambiguous(by_key, by_title))
        elif target == index:
            self._refuse(index, reference, "depends on itself")
        elif target is not None:
            self.edges[index][target] = None
        elif name in self._names.known:
            self.outside[index][self._names.known[name]] = None
        else:
            hint = self._problems.suggestion(name, self._names)
            self._refuse(index, reference, f"depends on {quoted(name)}, which does not exist{hint}")

    def _ambiguous(self, by_key: int, by_title: int) -> str:
        key_line, title_line = (self._entries[index].line for index in (by_key, by_title))
        return f"ambiguous: the key of the task on line {key_line}, the title on line {title_line}"

    def _refuse(self, index: int, reference: Reference, what: str) -> None:
        self._problems.add(reference.line, f"{self._entries[index].label}: {what}")

    def _refuse_cycles(self) -> None:
        """Each cycle found is cut at its last edge, so that the next one shows too."""
        for _ in range(MOST_CYCLES):
            cycle = find_cycle(self.edges)
            if cycle is None:
                return
            del self.edges[cycle[-2]][cycle[-1]]
            self._problems.add(
                self._entries[cycle[0]].line,
                f"{self._entries[cycle[0]].label}: dependency cycle: {self._path(cycle)}",
            )

    def _path(self, cycle: list[int]) -> str:
        shown = [quoted(str(self._titles[index])) for index in cycle]
        if len(shown) > SHOWN_OF_CYCLE:
            left_out = len(shown) - SHOWN_OF_CYCLE
            shown[SHOWN_OF_CYCLE - 1 : -1] = [f"({left_out:,} more)"]
        return " -> ".join(shown)


def refuse_duplicates(
    name: str, entries: list[Entry], fields: list[dict[str, Any]], problems: Problems
) -> None:
    """Two tasks with one title (or key) cannot be told apart in `depends_on`."""
    first: dict[str, int] = {}
    for entry, values in zip(entries, fields, strict=True):
        if name not in values:
            continue
        line = entry.members[name].line
        if values[name] in first:
            where = f"first on line {first[values[name]]}"
            message = f"{name} {quoted(values[name])} is used twice, {where}"
            problems.add(line, f"{entry.label}: {message}")
        first.setdefault(values[name], line)
