"""The engines a person may choose on a page: only those that would start now."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from batches.admission import engine_options
from batches.engines import ENGINES, load
from batches.errors import InvalidOptions
from batches.models import CommandEngine

COMMAND = "command"
FRESH_S = 60
"""How long the answer of an engine that has to be asked is good for."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`problem` says why it cannot be used; empty when it works."""

    name: str
    about: str = ""
    problem: str = ""


def choices() -> list[Choice]:
    """Those that work first, each kind by name."""
    rows = CommandEngine.objects.filter(enabled=True)
    found = [_of_row(row) for row in rows]
    found += [_built_in(name) for name in sorted(ENGINES) if name != COMMAND]
    return sorted(found, key=lambda choice: bool(choice.problem))


def _of_row(row: CommandEngine) -> Choice:
    options = {"argv": row.argv, "prompt_via": row.prompt_via, "pass_env": row.pass_env}
    return Choice(name=row.name, about="command", problem=_problem(COMMAND, options))


def _built_in(name: str) -> Choice:
    try:
        options = engine_options(name)
    except InvalidOptions as error:
        return Choice(name=name, problem=error.message.removeprefix("engine: "))
    return Choice(name=name, problem=_kept(name, repr(options), int(time.monotonic() // FRESH_S)))


@lru_cache(maxsize=64)
def _kept(name: str, _options: str, _minute: int) -> str:
    """An engine may start its program to tell whether it works."""
    return _problem(name, engine_options(name))


def _problem(kind: str, options: Mapping[str, Any]) -> str:
    found = load(kind).check(options)
    return found.sentence if found else ""
