"""The page about the built-in agent says what the code does."""

import re

from batches.engines.builtin.engine import _REASONS
from batches.engines.builtin.errors import EXIT_CODES
from batches.engines.builtin.tools.schemas import TOOLS
from tests.architecture.source import ROOT

PAGE = (ROOT / "docs" / "builtin-agent.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| ([\d, ]+) \| (.+) \|$", re.M)
USAGE = {"usage"}
"""A wrong command line has no last line."""


def test_every_end_has_its_code_on_the_page() -> None:
    told = {
        name: (int(code), meaning)
        for names, codes, meaning in ROW.findall(PAGE.partition("## How it ends")[2])
        for name, code in zip(re.findall(r"\w+", names), codes.split(","), strict=True)
    }
    assert {name: code for name, (code, _) in told.items()} == {
        name: code for name, code in EXIT_CODES.items() if name not in USAGE
    }
    for name, reason in _REASONS.items():
        assert f"`{reason}`" in told[name][1]


def test_exit_codes_are_all_different() -> None:
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)


def test_every_tool_is_on_the_page() -> None:
    told = set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE, re.M))
    assert told >= {tool["name"] for tool in TOOLS}
