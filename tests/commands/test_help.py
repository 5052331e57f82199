"""--help of every command and verb: complete, and short enough for one page."""

import argparse
from collections.abc import Iterator

import pytest
from django.core.management import get_commands, load_command_class

from tasks.console import ConsoleCommand

OURS = (
    "batch",
    "demo",
    "drain",
    "engine",
    "engines",
    "runbatch",
    "task",
    "web",
    "worker",
    "workspace",
)
PAGE_LINES = 66
PAGE_WIDTH = 100


def parsers_of(name: str) -> Iterator[argparse.ArgumentParser]:
    """The command's own and those of its verbs."""
    command = load_command_class(str(get_commands()[name]), name)
    assert isinstance(command, ConsoleCommand)
    parser = command.create_parser("/somewhere/manage.py", name)
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


@pytest.mark.parametrize("name", OURS)
def test_every_option_says_what_it_is_for(name: str) -> None:
    silent = [
        f"{parser.prog} {action.option_strings or action.dest}"
        for parser in parsers_of(name)
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("name", OURS)
def test_help_fits_a_page(name: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for parser in parsers_of(name):
        lines = parser.format_help().splitlines()
        assert len(lines) <= PAGE_LINES, parser.prog
        assert max(map(len, lines)) <= PAGE_WIDTH, parser.prog
        assert parser.description, parser.prog
        assert parser.description[0].isupper(), parser.prog
        assert parser.description.endswith("."), parser.prog
        assert lines[0].startswith(f"usage: manage.py {name}")
