"""How a gate's program is started: its argv, its environment, its limits."""

import os
from pathlib import Path

from batches.engines.environment import build_environment, prepare_folders
from batches.gates.catalog import Gate
from batches.gates.tools import Tool
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.supervisor.record import LaunchSpec

SPOOL_BYTES = 8 * 1024 * 1024
GRACE_S = 5.0
# Nobody takes over a gate whose follower is gone: it is run again from the start.
ORPHAN_S = 30.0


def launch_spec(
    gate: Gate,
    tool: Tool,
    *,
    tree: Path,
    folder: Path,
    path: str,
    surroundings: Surroundings = NOTHING,
) -> LaunchSpec:
    path = surroundings.path(path)
    env = _environment(gate, tool, tree=tree, folder=folder, path=path)
    return LaunchSpec(
        argv=_argv(gate, tool, folder),
        cwd=str(tree),
        env={**surroundings.variables, **env},
        deadline_s=gate.timeout_s,
        grace_s=GRACE_S,
        spool_bytes=SPOOL_BYTES,
        orphan_s=ORPHAN_S,
    )


def _argv(gate: Gate, tool: Tool, folder: Path) -> tuple[str, ...]:
    program: tuple[str, ...] = (str(tool.program),)
    if gate.python_module and tool.python:
        program = (str(tool.python), "-m", gate.program)
    if not gate.of_catalog:
        return (*program, *gate.arguments)
    return (*program, *(word.replace("{folder}", str(folder)) for word in gate.arguments))


def _environment(gate: Gate, tool: Tool, *, tree: Path, folder: Path, path: str) -> dict[str, str]:
    home, tmp = folder / "home", folder / "tmp"
    prepare_folders(home=home, tmp=tmp)
    if tool.bin:
        path = os.pathsep.join((str(tool.bin), path))
    extra = {"PYTHONDONTWRITEBYTECODE": "1"}
    if gate.python_module and not tool.of_tree:
        # An environment made for the repository may have it installed in place, and would then
        # test the repository's code and not this tree's.
        extra["PYTHONPATH"] = os.pathsep.join(_import_roots(tree))
    return build_environment(home=home, tmp=tmp, path=path, extra=extra)


def _import_roots(tree: Path) -> list[str]:
    roots = (tree / "src", tree)
    return [str(root) for root in roots if root.is_dir()]
