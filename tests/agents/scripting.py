"""What the model says to a real agent: each in the words of the tools that it declares."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.models import Task, Workspace
from tests.fakes.model_server import Call, Fault, ModelServer, Script, Turn, Usage

DONE = "done"


def scripted(
    workspace: Workspace,
    server: ModelServer,
    kind: str,
    *steps: str,
    faults: Mapping[int, Sequence[Fault]] | None = None,
) -> Task:
    """A task, and the model's turns for it: `write PATH TEXT`, `run COMMAND` or `done`, and at the
    end it is done. `faults` are those of a turn, from 0.

    Each turn has counts of its own, so that a sum can be right in one way only.
    """
    turns = [
        Turn(
            "Done." if step == DONE else f"Working on step {number}.",
            [] if step == DONE else [_call(kind, *step.split(" ", 1))],
            usage=Usage(input=1000 + number, cache_read=200, output=30 + number),
            faults=(faults or {}).get(number, ()),
        )
        for number, step in enumerate([*steps, DONE])
    ]
    server.scripts.append(Script(turns, by_results=DONE not in steps))
    return Task.objects.create(workspace=workspace, title="Brew", status="READY")


def _call(kind: str, verb: str, rest: str) -> Call:
    if verb == "run":
        return _run(kind, rest)
    path, _, text = rest.partition(" ")
    writers = {"claude": "Write", "gemini": "write_file"}
    if kind in writers:
        return Call(writers[kind], {"file_path": path, "content": text})
    return _run(kind, f"printf '%s\\n' {shlex.quote(text)} > {shlex.quote(path)}")


def _run(kind: str, command: str) -> Call:
    described: dict[str, Any] = {"command": command, "description": "run"}
    return {
        "claude": Call("Bash", described),
        "opencode": Call("bash", described),
        "gemini": Call("run_shell_command", {"command": command}),
        "codex": Call("exec_command", {"cmd": command}),
    }[kind]
