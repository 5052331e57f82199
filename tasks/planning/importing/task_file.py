"""One task file in, drafts or every problem out."""

from collections.abc import Callable, Hashable, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal, TypeAlias

from tasks.planning.importing.draft import Entry, TaskDraft
from tasks.planning.importing.entries import read_entries
from tasks.planning.importing.fields import read_fields
from tasks.planning.importing.json_file import read_json
from tasks.planning.importing.markdown_file import read_checklists
from tasks.planning.importing.problems import Problems
from tasks.planning.importing.references import Resolver, refuse_duplicates
from tasks.planning.importing.source import Source, read_source
from tasks.planning.importing.yaml_file import read_yaml

Format: TypeAlias = Literal["yaml", "json", "markdown"]

SUFFIXES: dict[str, Format] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
}
READERS: dict[Format, Callable[[Source, Problems], list[Entry]]] = {
    "yaml": lambda source, problems: read_entries(read_yaml(source, problems), problems),
    "json": lambda source, problems: read_entries(read_json(source, problems), problems),
    "markdown": read_checklists,
}
NOTHING_KNOWN: Mapping[str, Hashable] = MappingProxyType({})


def format_of(path: PurePath | str) -> Format:
    """By the name's ending; raises ValueError for one we do not read."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{PurePath(path).name}: a task file ends in {', '.join(SUFFIXES)}")
    return SUFFIXES[suffix]


def parse_tasks(
    data: bytes,
    *,
    format: Format,
    name: str,
    known: Mapping[str, Hashable] = NOTHING_KNOWN,
) -> list[TaskDraft]:
    """Drafts in the order of the file, a parent before its children. Raises ImportErrors.

    `known` has the titles and keys of tasks outside the file; the file's own names come first.
    """
    problems = Problems(name)
    entries = READERS[format](read_source(data, problems), problems)
    fields = [read_fields(entry, problems) for entry in entries]
    for field in ("title", "key"):
        refuse_duplicates(field, entries, fields, problems)
    resolver = Resolver(entries, fields, known, problems)
    resolver.resolve()
    problems.check()
    return [
        TaskDraft(
            **values,
            line=entry.line,
            parent=entry.parent,
            depends_on=tuple(resolver.edges[index]),
            depends_on_known=tuple(resolver.outside[index]),
        )
        for index, (entry, values) in enumerate(zip(entries, fields, strict=True))
    ]
