"""A set-up command as text, read into an argv of an allowed shape, or refused with a sentence."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from batches.provisioning.shapes import FOLDER, SHAPES, WORDS, Shape, Takes
from batches.provisioning.sources import is_allowed

MOST_COMMANDS = 12
MOST_CHARS = 1000
MOST_WORDS = 100

# Of what a shell would act on, only what versions are written with; the rest has no use here.
_PLAIN = re.compile(r"[A-Za-z0-9 ._+@:/,=<>!~^*'\"\[\]-]+")
_ADDRESS = re.compile(r"(?:git\+)?[a-z]+://\S+")


class SetupRefused(ValueError):
    """The message is for a person and names the command."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What an operator lets in beyond the shapes."""

    addresses: Sequence[str] = ()
    apt: bool = False


@dataclass(frozen=True, kw_only=True)
class SetupCommand:
    """`files` are requirement files of the tree that it reads: their lines are looked at too."""

    text: str
    kind: str
    argv: tuple[str, ...]
    words: tuple[str, ...]
    files: tuple[str, ...] = ()


def parse_setup(text: object, policy: Policy) -> SetupCommand:
    """Nothing is expanded and no shell is asked. Raises SetupRefused."""
    if not isinstance(text, str) or not text.strip():
        raise SetupRefused("A set-up command is a line of text.")
    if len(text) > MOST_CHARS:
        raise SetupRefused(f"{text[:40]!r}…: it is longer than {MOST_CHARS} characters.")
    if not _PLAIN.fullmatch(text):
        raise SetupRefused(f"{text!r}: {_first_odd(text)!r} has no place in a set-up command.")
    argv = _split(text)
    shape, begin = _shape_of(text, argv)
    if shape.kind == "apt" and not policy.apt:
        raise SetupRefused(f"{text!r}: packages of the system are the operator's to allow.")
    words = argv[len(begin) :]
    files, plain, given = _read_words(text, shape, words, policy)
    if shape.needs_word and not plain:
        raise SetupRefused(f"{text!r}: it does not say what to install.")
    if shape.needs_option and not given & {shape.needs_option, "--yes"}:
        raise SetupRefused(f"{text!r}: without {shape.needs_option} it would wait for an answer.")
    return SetupCommand(
        text=text, kind=shape.kind, argv=tuple(argv), words=tuple(words), files=tuple(files)
    )


def parse_all(texts: Sequence[object], policy: Policy) -> list[SetupCommand]:
    """In order, each once. Raises SetupRefused, for too many as well."""
    commands = {command.text: command for command in (parse_setup(t, policy) for t in texts)}
    if len(commands) > MOST_COMMANDS:
        raise SetupRefused(
            f"There are {len(commands)} set-up commands, and {MOST_COMMANDS} may be."
        )
    return list(commands.values())


def _first_odd(text: str) -> str:
    return next((letter for letter in text if not _PLAIN.fullmatch(letter)), text[:1])


def _split(text: str) -> list[str]:
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise SetupRefused(f"{text!r}: it cannot be split into words ({error}).") from error
    if len(argv) > MOST_WORDS or not all(argv):
        raise SetupRefused(f"{text!r}: an empty word, or too many of them.")
    return argv


def _shape_of(text: str, argv: Sequence[str]) -> tuple[Shape, tuple[str, ...]]:
    for shape in SHAPES:
        for begin in shape.begins:
            if tuple(argv[: len(begin)]) == begin:
                return shape, begin
    known = ", ".join(" ".join(shape.begins[0]) for shape in SHAPES)
    raise SetupRefused(f"{text!r}: it has none of the shapes that set-up commands have ({known}).")


def _read_words(
    text: str, shape: Shape, words: Sequence[str], policy: Policy
) -> tuple[list[str], int, set[str]]:
    """Files that it reads, the number of things it installs, the options it was given."""
    files: list[str] = []
    plain = 0
    given: set[str] = set()
    for option, value, takes in _paired(text, shape, words):
        given.add(option)
        if takes is Takes.NOTHING:
            continue
        if not _fits(value, takes, policy):
            raise SetupRefused(f"{text!r}: {value!r} is not {takes.value}.")
        if option in ("-r", "--requirement", "--requirements", "-c", "--constraint"):
            files.append(value)
        plain += option in ("", "-r", "--requirement", "--requirements", "-e", "--editable")
    return files, plain, given


def _paired(text: str, shape: Shape, words: Sequence[str]) -> Iterator[tuple[str, str, Takes]]:
    """Options with their values, `--name=value` too; other words with an empty option."""
    waiting = iter(words)
    for word in waiting:
        if not word.startswith("-"):
            if shape.words is Takes.NOTHING:
                raise SetupRefused(f"{text!r}: {word!r} has no place here.")
            yield "", word, shape.words
            continue
        name, equals, value = word.partition("=")
        takes = shape.options.get(name)
        if takes is None or (equals and (takes is Takes.NOTHING or not name.startswith("--"))):
            raise SetupRefused(f"{text!r}: the option {name} is not allowed.")
        if takes is not Takes.NOTHING and not equals:
            value = next(waiting, "")
        yield name, value, takes


def _fits(value: str, takes: Takes, policy: Policy) -> bool:
    if takes is Takes.ADDRESS:
        return is_allowed(value, policy.addresses)
    if takes is Takes.PATH:
        return WORDS[takes].fullmatch(value) is not None
    if takes is not Takes.PROJECT:
        return WORDS[takes].fullmatch(value) is not None
    if _ADDRESS.fullmatch(value):
        return is_allowed(value, policy.addresses)
    if FOLDER.fullmatch(value):
        return ".." not in value.split("[")[0].split("/")
    return WORDS[Takes.REQUIREMENT].fullmatch(value) is not None
