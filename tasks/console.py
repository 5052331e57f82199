"""What all our commands share: one line per error, exit codes, a database that is there."""

import argparse
import math
import os
import re
import shutil
import sys
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TextIO

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError

from tasks.database import prepare_database, told
from tasks.errors import DomainError, FileRefused
from tasks.text import clip, one_line, printable

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUSY = 3
EXIT_CANCELLED = 4
EXIT_INTERRUPTED = 130
LONGEST_LINE = 1000
HELP_WIDTH = 100
_ENDLESS = re.compile(r"(\S{60})\S{240,}")


class Help(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal, and never wider than a page."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)
        self._width = min(self._width, HELP_WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """A paragraph is wrapped; lines that somebody has set are kept."""
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


class OneLineParser(CommandParser):
    """Says what is wrong in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {_sentence(message)}\n")


class Verbs:
    """The sub-commands of a command, each with its sentence in both help texts."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(
            dest="verb", required=True, title="verbs", metavar="VERB"
        )

    def add(self, name: str, sentence: str) -> argparse.ArgumentParser:
        return self._parsers.add_parser(
            name, help=sentence, description=f"{sentence}.", formatter_class=Help
        )


class ConsoleCommand(BaseCommand):
    """Subclasses define `run`; DomainErrors become one line on stderr and an exit code."""

    exit_codes: ClassVar[dict[type[DomainError], int]] = {}
    requires_system_checks = []
    epilog: ClassVar[str] = ""
    _unheard: OSError | None = None

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        program = prog_name.rsplit("/", 1)[-1]
        parser = OneLineParser(
            prog=f"{program} {subcommand}",
            description=self.help or None,
            epilog=self.epilog or None,
            formatter_class=Help,
            called_from_command_line=True,
            **kwargs,
        )
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
        _show_any_text()
        try:
            code = self._run(**options)
        except KeyboardInterrupt:
            code = EXIT_INTERRUPTED
        if self._unheard and not code:
            code = self._refuse(f"output: {self._unheard.strerror}", EXIT_FAILED)
        _flush()
        if code:
            sys.exit(code)

    def _run(self, **options: Any) -> int | None:
        try:
            _refuse_other_encodings(options)
            prepare_database()
            return self.run(**options)
        except FileRefused as refused:
            for line in refused.message.splitlines():
                self.stderr.write(_sentence(line))
            return EXIT_USAGE
        except DomainError as error:
            return self._refuse(error.message, self.exit_codes.get(type(error), EXIT_USAGE))
        except DatabaseError as error:
            return self._refuse(told(error), EXIT_FAILED)
        except OSError as error:
            return self._refuse(f"{error.filename or 'system'}: {error.strerror}", EXIT_FAILED)

    def _refuse(self, message: str, code: int) -> int:
        self.stderr.write(f"Error: {_sentence(message)}")
        return code

    run: Callable[..., int | None]
    """Takes the options by name; gives the exit code, None for 0."""

    def say(self, text: str = "") -> None:
        """No byte of it steers the terminal, whatever an agent has printed."""
        self.hand_out(printable(text))

    def hand_out(self, line: str) -> None:
        """What is done goes on, and keeps its exit code, when nobody takes what it prints."""
        try:
            self.stdout.write(line)
        except OSError as error:
            self._unheard = None if isinstance(error, BrokenPipeError) else error
            _forget(sys.stdout)

    def width(self) -> int | None:
        """Of the terminal, in cells; None when the output goes elsewhere."""
        return shutil.get_terminal_size().columns if self.stdout.isatty() else None


def at_least(least: int, most: int) -> Callable[[str], int]:
    """A type for argparse."""

    def whole_number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {least} to {most}, not {clip(text, 40)!r}"
            )
        return value

    return whole_number


def from_zero(noun: str) -> Callable[[str], float]:
    """A type for argparse: a finite number, and what it counts."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise argparse.ArgumentTypeError(
                f"must be a number of {noun} from 0, not {clip(text, 40)!r}"
            )
        return value

    return number


def _sentence(message: str) -> str:
    """One line, in which a word without end, quoted from the input, does not hide the rest."""
    return clip(_ENDLESS.sub(r"\1…", one_line(message)), LONGEST_LINE)


def _show_any_text() -> None:
    """At once, in a pipe too. A letter that the terminal lacks is a mark, and ends no batch."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace", line_buffering=True)


def _flush() -> None:
    """The interpreter's own last flush would change the exit code where a terminal has gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _forget(stream)


def _forget(stream: TextIO) -> None:
    """Whoever read it is gone: a pipe to `head`, a closed window."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _refuse_other_encodings(options: dict[str, Any]) -> None:
    """Text that is not UTF-8 cannot be stored."""
    for name, value in options.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str | os.PathLike):
                _refuse_surrogates(name, str(text))


def _refuse_surrogates(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DomainError(f"{name}: {text!r} is not UTF-8 text") from None
