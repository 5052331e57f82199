"""Every key of a workspace's configuration: what it may hold, what it is for, who reads it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from batches.engines.template import CommandError, parse_command
from batches.gates.catalog import GateError, workspace_gate
from batches.options import BOUNDS
from batches.provisioning.setup_command import MOST_COMMANDS, SetupRefused, parse_all
from batches.provisioning.setup_policy import policy
from batches.provisioning.tools import TOOLS

MOST_ITEMS = 100
MOST_TEXT = 1000
DAY_S = 24 * 3600
_ENGINE = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Invalid(ValueError):
    """The message completes a sentence that begins with the key."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """`check` gives the value as it is kept, or raises Invalid; `example` is YAML."""

    name: str
    check: Callable[[Any], Any]
    default: Any
    about: str
    example: str


def _tools(value: Any) -> str | list[str]:
    if value in ("auto", "none"):
        return str(value)
    names = _texts(value)
    unknown = [name for name in names if name not in TOOLS]
    if unknown or not names:
        raise Invalid(f"must be auto, none, or names of: {', '.join(TOOLS)}")
    return names


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise Invalid("must be true or false")
    return value


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise Invalid(f"must be a whole number from {low} to {high}")
        return value

    return check


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise Invalid(f"must be a list of up to {MOST_ITEMS} texts")
    for item in value:
        if not isinstance(item, str) or not item.strip() or len(item) > MOST_TEXT:
            raise Invalid(f"must hold texts of 1 to {MOST_TEXT} characters, and no {item!r:.40}")
        _refuse_controls(item)
    return list(value)


def _refuse_controls(text: str) -> None:
    if any(not letter.isprintable() for letter in text):
        raise Invalid(f"must hold no control characters, as {text!r:.40} does")


def _commands(value: Any) -> list[str]:
    texts = _texts(value)
    for text in texts:
        try:
            parse_command(text)
        except CommandError as error:
            raise Invalid(f"has a bad command: {error}") from error
    return texts


def _setup(value: Any) -> list[str]:
    try:
        return [command.text for command in parse_all(_texts(value), policy())]
    except SetupRefused as error:
        raise Invalid(f"has a command that is refused: {error}") from error


def _gates(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise Invalid(f"must be a list of up to {MOST_ITEMS} gates")
    kept = []
    for item in value:
        if not isinstance(item, dict) or not set(item) <= {"name", "argv", "timeout_s"}:
            raise Invalid("must hold gates of name, argv and perhaps timeout_s")
        try:
            gate = workspace_gate(item)
        except GateError as error:
            raise Invalid(f"has a bad gate: {error}") from error
        for word in (gate.name, gate.program, *gate.arguments):
            _refuse_controls(word)
        kept.append(dict(item))
    names = [item["name"] for item in kept]
    if len(set(names)) < len(names):
        raise Invalid("names a gate twice")
    return kept


def _patterns(value: Any) -> list[str]:
    patterns = _texts(value)
    for pattern in patterns:
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise Invalid(f"must hold paths relative to the top of the tree, not {pattern!r}")
    return patterns


def _engine(value: Any) -> str:
    if not isinstance(value, str) or not _ENGINE.fullmatch(value):
        raise Invalid("must be the name of an engine")
    return value


def _limit(name: str, what: str) -> Key:
    low, high = BOUNDS[name]
    return Key(
        name=f"limits.{name}",
        check=_whole(max(low, 1) if name != "max_retries" else low, high),
        default=None,
        about=f"The most that a batch may have of `{name}`: {what}",
        example=f"{max(low, 4)}",
    )


KEYS: Sequence[Key] = (
    Key(
        name="environment.tools",
        check=_tools,
        default="auto",
        about="`auto`: by the lock files there are; `none`; or a list of tools",
        example="[uv, npm]",
    ),
    Key(
        name="environment.copy",
        check=_flag,
        default=False,
        about="Each run gets a copy of its own, which its agent may install into",
        example="true",
    ),
    Key(
        name="environment.probe",
        check=_commands,
        default=[],
        about="Commands that must succeed in a new environment, or it is removed again",
        example="[\"python -c 'import flask'\"]",
    ),
    Key(
        name="environment.timeout_s",
        check=_whole(1, DAY_S),
        default=1800,
        about="Seconds that all of a run's environments together may take to build",
        example="600",
    ),
    Key(
        name="setup.commands",
        check=_setup,
        default=[],
        about=f"Up to {MOST_COMMANDS} commands replayed in each run's own environment, in order",
        example='["pip install -e ."]',
    ),
    Key(
        name="setup.timeout_s",
        check=_whole(1, 3600),
        default=600,
        about="Seconds that each of them may take",
        example="120",
    ),
    Key(
        name="gates",
        check=_gates,
        default=[],
        about="Gates of the workspace's own: `name`, `argv` and perhaps `timeout_s`",
        example="[{name: unit, argv: [make, test], timeout_s: 300}]",
    ),
    Key(
        name="protected_paths",
        check=_patterns,
        default=[],
        about="Patterns of files that no change may touch; `*` stops at `/`, `**` does not",
        example='["migrations/**", "*.lock"]',
    ),
    Key(
        name="engine",
        check=_engine,
        default="",
        about="The engine of a batch that names none",
        example="fixer",
    ),
    _limit("max_parallel", "agents at once"),
    _limit("max_retries", "further attempts of a task"),
    _limit("timeout_s", "seconds of an agent; no limit becomes this one"),
    _limit("stall_timeout_s", "seconds of silence; no limit becomes this one"),
)
BY_NAME = {key.name: key for key in KEYS}
SECTIONS = {key.name.split(".")[0] for key in KEYS if "." in key.name}
