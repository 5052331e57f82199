"""The page about task files says what is so."""

import re
from pathlib import Path

from tasks.planning.importing.fields import NAMES
from tests.tasks.planning.importing.reading import NAMES as FILES
from tests.tasks.planning.importing.reading import read, refused

PAGE = (Path(__file__).parents[4] / "docs" / "tasks-files.md").read_text()
EXAMPLES = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_are_read() -> None:
    by_format = {}
    for format, text in EXAMPLES[:3]:
        by_format[format] = [draft.depends_on for draft in read(text, format)]
    assert by_format == {
        "yaml": [(), (0,), (1,), (4, 5), (), (4,)],
        "json": [(), (0,)],
        "markdown": [(), (0, 2, 3), (0,), (0, 2), (0, 1)],
    }
    assert set(by_format) == set(FILES)


def test_the_errors_are_those_shown() -> None:
    (_, faulty), (_, shown) = EXAMPLES[3:]
    assert refused(faulty) == shown.strip().split("\n")


def test_every_field_is_in_the_table() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(NAMES)
