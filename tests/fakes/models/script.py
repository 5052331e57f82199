"""What the model says next: read off the conversation, so that a repeated request gets the same.

In a prompt each line `model: write PATH TEXT` is one step, a call of whatever tool writes files;
`model: run COMMAND` runs one; when all are done the model says `Done.` and stops.
"""

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

_STEP = re.compile(r"^\s*(?:[>*-] )?model: (write|run) (.+?)\s*$", re.MULTILINE)
DONE = "Done."


@dataclass(frozen=True)
class Step:
    """`arguments` None: the model only speaks."""

    text: str
    tool: str = ""
    arguments: dict[str, Any] | None = None


def next_step(said: list[str], results: int, tools: list[str]) -> Step:
    """`said` by people, `results` of tools so far, `tools` that are declared."""
    steps = [match.groups() for text in said for match in _STEP.finditer(text)]
    if results >= len(steps):
        return Step(DONE)
    verb, rest = steps[results]
    tool, arguments = _call(verb, rest, tools)
    return Step(f"Working on step {results + 1}.", tool, arguments)


def _call(verb: str, rest: str, tools: list[str]) -> tuple[str, dict[str, Any]]:
    path, _, text = rest.partition(" ")
    writers = {
        "Write": {"file_path": path, "content": text},
        "write": {"filePath": path, "content": text},
        "write_file": {"file_path": path, "content": text},
    }
    if verb == "write":
        for name, arguments in writers.items():
            if name in tools:
                return name, arguments
        rest = f"printf '%s\\n' {shlex.quote(text)} > {shlex.quote(path)}"
    runners = {
        "Bash": {"command": rest, "description": "run"},
        "bash": {"command": rest, "description": "run"},
        "run_shell_command": {"command": rest},
        "exec_command": {"cmd": rest},
        "shell": {"command": ["bash", "-lc", rest]},
    }
    for name, arguments in runners.items():
        if name in tools:
            return name, arguments
    raise AssertionError(f"no tool for {verb} among {tools}")


def arguments_text(step: Step) -> str:
    return json.dumps(step.arguments)
