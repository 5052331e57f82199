"""The gates there are, how each is found in a tree, and which are chosen."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batches.engines.template import CommandError, parse_command
from batches.gates.detect import asks_for_pytest, asks_for_ruff
from batches.gates.evidence import Evidence, Reading, by_exit_code
from batches.gates.pytest_report import REPORT, read_pytest
from batches.gates.ruff_report import read_ruff

AUTO = "auto"
NONE = "none"
DEFAULT_TIMEOUT_S = 1800.0
MAX_TIMEOUT_S = 24 * 3600.0

# A gate's name is also the name of its folder.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class GateError(ValueError):
    """A gate that does not exist or is written wrongly; the message is for a person."""


def _never(tree: Path) -> bool:
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """In an argument of a gate `of_catalog`, `{folder}` is the gate's own folder in the run's."""

    name: str
    program: str
    arguments: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    read: Callable[[Evidence], Reading] = by_exit_code
    detect: Callable[[Path], bool] = _never
    python_module: bool = False
    of_catalog: bool = False


CATALOG: tuple[Gate, ...] = (
    Gate(
        name="ruff",
        of_catalog=True,
        program="ruff",
        arguments=("check", "--output-format=concise", "--no-cache", "--no-fix", "."),
        timeout_s=300,
        read=read_ruff,
        detect=asks_for_ruff,
    ),
    Gate(
        name="pytest",
        of_catalog=True,
        program="pytest",
        arguments=(
            "-q",
            "--color=no",
            # Not -p no:cacheprovider: suites whose options or fixtures need the cache would fail.
            "-o",
            "cache_dir={folder}/cache",
            "-o",
            "junit_family=xunit1",  # the later family leaves out file and line
            f"--junitxml={{folder}}/{REPORT}",
        ),
        read=read_pytest,
        detect=asks_for_pytest,
        python_module=True,
    ),
)


def select(
    policy: str | Sequence[str],
    tree: Path,
    workspace_gates: Sequence[Gate] = (),
    *,
    expected: Collection[str] = (),
) -> list[Gate]:
    """A workspace's gate takes the place of a catalog gate of its name. Raises GateError.

    `expected` names gates that `auto` chose on the base, and keeps them: an agent that deletes
    the tests must not thereby do away with the gate.
    """
    if policy == NONE:
        return []
    own = {gate.name for gate in workspace_gates}
    known = {gate.name: gate for gate in (*CATALOG, *workspace_gates)}
    if policy == AUTO:
        wanted = own | set(expected)
        return [gate for gate in known.values() if gate.name in wanted or gate.detect(tree)]
    names = list(dict.fromkeys([policy] if isinstance(policy, str) else policy))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise GateError(_unknown(unknown, known))
    return [known[name] for name in names]


def parse_policy(text: str) -> str | list[str]:
    """`auto`, `none`, or names with commas between them. Raises GateError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise GateError("Say auto, none, or the names of gates with commas between them.")
    return names[0] if names[0] in (AUTO, NONE) and len(names) == 1 else names


def parse_gate(text: str) -> Gate:
    """From `name=command`. Raises GateError."""
    name, equals, command = text.partition("=")
    if not equals:
        raise GateError(f"{text!r} is not a gate: write it as name=command.")
    try:
        argv = parse_command(command)
    except CommandError as error:
        raise GateError(f"Gate {name!r}: {error}") from error
    return workspace_gate({"name": name, "argv": argv})


def workspace_gate(definition: Mapping[str, Any]) -> Gate:
    """From a workspace's row: name, argv and perhaps timeout_s (seconds). Raises GateError."""
    name, argv = definition.get("name"), definition.get("argv")
    timeout_s = definition.get("timeout_s", DEFAULT_TIMEOUT_S)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (AUTO, NONE):
        raise GateError(f"{name!r} cannot name a gate: use letters, digits, dot, dash, underscore.")
    if not isinstance(argv, list | tuple) or not _is_argv(argv):
        raise GateError(f"Gate {name!r}: argv must be a list of words that begins with a program.")
    if not _is_timeout(timeout_s):
        raise GateError(f"Gate {name!r}: timeout_s must be seconds, up to {MAX_TIMEOUT_S:.0f}.")
    return Gate(name=name, program=argv[0], arguments=tuple(argv[1:]), timeout_s=float(timeout_s))


def _is_argv(argv: Sequence[object]) -> bool:
    words = all(isinstance(word, str) and "\0" not in word for word in argv)
    return words and len(argv) > 0 and argv[0] != ""


def _is_timeout(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= MAX_TIMEOUT_S


def _unknown(names: Sequence[str], known: Collection[str]) -> str:
    listed = ", ".join(sorted(known))
    if not names:
        return f"No gate is named. Gates: {listed}; or say none."
    return f"There is no gate {', '.join(map(repr, names))}. Gates: {listed}."
