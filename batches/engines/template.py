"""Command lines that people write: split into words once, then filled word by word."""

import re
import shlex
from collections.abc import Mapping

PLACEHOLDERS = ("prompt_file", "prompt", "workspace", "task_id", "run_id", "batch_id")
IN_TREE = "{workspace}/"
# Linux refuses a longer argv item (MAX_ARG_STRLEN is 128 KiB with the closing NUL).
MAX_ARGUMENT_BYTES = 128 * 1024 - 1

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_BRACES = {"{{": "{", "}}": "}"}
_OPERATORS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>>", "2>&1", "&>"}
# A word as it is written, quotes and all.
_RAW_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""", re.DOTALL)


class CommandError(ValueError):
    """A command that cannot be used; the message is for the person who wrote it."""


def parse_command(text: str) -> list[str]:
    """Split as a shell would, without a shell: nothing is expanded. Raises CommandError."""
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"The command cannot be split into words: {error}.") from error
    if not argv:
        raise CommandError("The command is empty.")
    operator = _shell_syntax(text)
    if operator:
        raise CommandError(
            f"{operator} is shell syntax, and commands run without a shell. "
            "To use one, say so: sh -c '...'"
        )
    return argv


def check_argv(argv: object) -> None:
    """Raises CommandError, naming the word that is wrong."""
    if not isinstance(argv, list | tuple) or not argv:
        raise CommandError("argv must be a list of words that begins with a program.")
    for word in argv:
        if not isinstance(word, str) or "\0" in word:
            raise CommandError(f"{word!r} cannot be a word of a command line.")
        fill(word, dict.fromkeys(PLACEHOLDERS, ""))
    _check_program(argv[0])


def fill(word: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of one word, which stays one word. Raises CommandError."""

    def piece(match: re.Match[str]) -> str:
        found, name = match[0], match[1]
        if found in _BRACES:
            return _BRACES[found]
        if name not in values:
            raise CommandError(_unknown(found, word))
        return values[name]

    return _PIECE.sub(piece, word)


def uses(argv: list[str] | tuple[str, ...], placeholder: str) -> bool:
    return any(match[1] == placeholder for word in argv for match in _PIECE.finditer(word))


def _shell_syntax(text: str) -> str | None:
    """The first bare operator; a quoted or escaped one is an ordinary word."""
    for raw in _RAW_WORD.findall(text):
        if raw in _OPERATORS:
            return str(raw)
        if raw.endswith(";") and not raw.endswith("\\;"):
            return ";"
    return None


def _check_program(program: str) -> None:
    if not program:
        raise CommandError("The program is an empty word.")
    if any(match[1] for match in _PIECE.finditer(program.removeprefix(IN_TREE))):
        raise CommandError(f"{program!r}: of placeholders, a program may only begin with {IN_TREE}")
    if "/" in program and not program.startswith(("/", IN_TREE)):
        raise CommandError(
            f"{program!r} is a relative path. Give an absolute path, the name of a program "
            f"on the PATH, or a path that begins with {IN_TREE}"
        )


def _unknown(found: str, word: str) -> str:
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    return (
        f"{found} in {word!r} is not a placeholder. Placeholders: {known}; "
        "{{ and }} stand for braces."
    )
