"""What all our commands share: one line per error, exit code 2, a database that is there."""

import argparse
import sys
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection

from tasks.errors import DomainError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUSY = 3
EXIT_CANCELLED = 4
EXIT_INTERRUPTED = 130


class Error(CommandError):
    """Named for what stands before the colon on a terminal."""


class OneLineParser(CommandParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


class ConsoleCommand(BaseCommand):
    """Subclasses define `run`; DomainErrors become one line on stderr and an exit code."""

    exit_codes: ClassVar[dict[type[DomainError], int]] = {}
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        program = prog_name.rsplit("/", 1)[-1]
        parser = OneLineParser(
            prog=f"{program} {subcommand}",
            description=self.help or None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            called_from_command_line=True,
            **kwargs,
        )
        self.add_base_argument(parser, "--version", action="version", version=self.get_version())
        for name in ("--settings", "--pythonpath"):
            self.add_base_argument(parser, name, help=argparse.SUPPRESS)
        self.add_base_argument(
            parser,
            "-v",
            "--verbosity",
            default=1,
            type=int,
            choices=range(4),
            help=argparse.SUPPRESS,
        )
        for name in ("--traceback", "--no-color", "--force-color", "--skip-checks"):
            self.add_base_argument(parser, name, action="store_true", help=argparse.SUPPRESS)
        self.add_arguments(parser)
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            prepare_database()
            code = self.run(**options)
        except DomainError as error:
            code = self.exit_codes.get(type(error), EXIT_USAGE)
            raise Error(error.message, returncode=code) from None
        except DatabaseError as error:
            raise Error(f"database: {_one_line(str(error))}", returncode=1) from None
        if code:
            sys.exit(code)

    run: Callable[..., int | None]
    """Takes the options by name; gives the exit code, None for 0."""

    def say(self, text: str = "") -> None:
        self.stdout.write(text)


def prepare_database() -> None:
    """A fresh SQLite file gets its tables; on a server that is the operator's step."""
    if "tasks_workspace" in connection.introspection.table_names():
        return
    if connection.vendor != "sqlite":
        raise DomainError("the database has no tables yet: run manage.py migrate first")
    call_command("migrate", verbosity=0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def table(rows: list[list[str]], *, right: tuple[int, ...] = ()) -> list[str]:
    """Columns padded to their widest cell; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
