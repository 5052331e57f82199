"""Short ways to say what a file gives."""

from collections.abc import Hashable, Mapping
from textwrap import dedent

import pytest

from tasks.planning.importing import Format, ImportErrors, TaskDraft, parse_tasks

NAMES: dict[Format, str] = {"yaml": "tasks.yaml", "json": "tasks.json", "markdown": "tasks.md"}


def read(
    text: str | bytes, format: Format = "yaml", known: Mapping[str, Hashable] | None = None
) -> list[TaskDraft]:
    data = text if isinstance(text, bytes) else dedent(text).encode()
    return parse_tasks(data, format=format, name=NAMES[format], known=known or {})


def refused(
    text: str | bytes, format: Format = "yaml", known: Mapping[str, Hashable] | None = None
) -> list[str]:
    """The lines of the refusal."""
    with pytest.raises(ImportErrors) as error:
        read(text, format, known)
    lines = str(error.value).split("\n")
    assert len(lines) == len(error.value.problems)
    return lines
