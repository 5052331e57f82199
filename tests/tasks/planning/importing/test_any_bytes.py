"""Whatever the bytes, a file gives drafts or a list of problems, and soon."""

import time
from pathlib import PurePath
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.planning.graph import find_cycle
from tasks.planning.importing import Format, ImportErrors, TaskDraft, format_of, parse_tasks
from tests.tasks.planning.support import unhurried

FORMATS: tuple[Format, ...] = get_args(Format)
# Seconds of CPU for a few hundred bytes.
LIMIT = 3

PIECES = [
    *(
        "- ",
        "- [ ] ",
        "1. [x] ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\n  ",
        "\n    ",
        "> ",
        "```\n",
        "---\n",
    ),
    *("title", "depends_on", "children", "key", "tasks", "done", ": ", ":", "? ", "| \n", ">-\n"),
    *('"', "'", "[", "]", "{", "}", ",", "&a ", "*a", "!!str ", "%YAML 1.2\n", "#", "~", "<!--"),
    *("(after: ", "(key: ", "(estimate: 3h)", ")", "A", "B", "A, B", "1", "-1", "1e999", "true"),
    *(
        "\\",
        "\\u0000",
        "\\ud800",
        "\\",
        "\x00",
        "\u2028",
        "\ufeff",
        "\x85",
        "é",
        "\U0001f600",
        ".nan",
    ),
]
SOUP = (
    st.lists(st.sampled_from(PIECES), max_size=40)
    .map("".join)
    .map(lambda text: text.encode("utf-8", "surrogatepass"))
)


def check(data: bytes, format: Format) -> None:
    start = time.process_time()
    try:
        check_drafts(parse_tasks(data, format=format, name="tasks", known={"B": 1}))
    except ImportErrors as error:
        check_refusal(error, data)
    assert time.process_time() - start < LIMIT


def check_refusal(error: ImportErrors, data: bytes) -> None:
    lines = data.count(b"\n") + data.count(b"\r") + 1
    assert error.problems
    assert all(1 <= problem.line <= lines for problem in error.problems)
    assert str(error).count("\n") == len(error.problems) - 1


def check_drafts(drafts: list[TaskDraft]) -> None:
    assert drafts
    indexes = range(len(drafts))
    edges = {index: drafts[index].depends_on for index in indexes}
    assert all(dependency in indexes for found in edges.values() for dependency in found)
    assert find_cycle(edges) is None
    assert len({draft.title for draft in drafts}) == len(drafts)


@settings(unhurried, max_examples=300)
@given(SOUP, st.sampled_from(FORMATS))
def test_soup_of_the_formats_own_pieces(data: bytes, format: Format) -> None:
    check(data, format)


@unhurried
@given(st.binary(max_size=200), st.sampled_from(FORMATS))
def test_arbitrary_bytes(data: bytes, format: Format) -> None:
    check(data, format)


@unhurried
@given(st.text(max_size=200), st.sampled_from(FORMATS))
def test_arbitrary_text(text: str, format: Format) -> None:
    check(text.encode("utf-8", "surrogatepass"), format)


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("plan.yaml", "yaml"),
        ("a.b/PLAN.YML", "yaml"),
        ("plan.json", "json"),
        (PurePath("docs/plan.md"), "markdown"),
        ("plan.markdown", "markdown"),
    ],
)
def test_the_ending_of_the_name_gives_the_format(path: str | PurePath, format: str) -> None:
    assert format_of(path) == format


@pytest.mark.parametrize("path", ["plan", "plan.txt", "yaml", ".json/x"])
def test_other_endings_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"a task file ends in \.yaml, \.yml, \.json"):
        format_of(path)
