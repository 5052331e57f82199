import argparse
from typing import Any

from batches.deletion import remove_workspace
from batches.errors import WorkspaceBusy
from batches.gates import catalog
from tasks.console import EXIT_BUSY, ConsoleCommand, Verbs
from tasks.errors import ValidationFailed
from tasks.lookup import workspace_named
from tasks.models import Workspace
from tasks.tables import table
from tasks.workspaces.registry import add_workspace

NAME, GATES, PATH = 0, 3, 4


class Command(ConsoleCommand):
    help = "Register git repositories that batches run on."
    exit_codes = {WorkspaceBusy: EXIT_BUSY}
    epilog = 'example:\n  manage.py workspace add ~/src/shop --gate "unit=make test"'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        add = verbs.add("add", "Register a repository; nothing in it is run or changed")
        add.add_argument("path", metavar="PATH", help="the repository's folder")
        add.add_argument("--name", default="", help="default: the folder's name")
        add.add_argument(
            "--gate",
            action="append",
            default=[],
            metavar="NAME=COMMAND",
            help="a check that results must pass; may be given again (docs/gates.md)",
        )
        add.add_argument(
            "--no-gates", action="store_true", help="declare that results need no check"
        )
        verbs.add("list", "Show what is registered")
        remove = verbs.add("remove", "Forget a repository; its files and refs stay as they are")
        remove.add_argument("workspace", metavar="WORKSPACE", help="name, path or id")
        remove.add_argument(
            "--delete-history",
            action="store_true",
            help="forget its batches too, and delete what agents and gates have printed",
        )

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(**options)

    def _add(self, *, path: str, name: str, gate: list[str], no_gates: bool, **_: Any) -> None:
        if gate and no_gates:
            raise ValidationFailed("--gate and --no-gates exclude each other")
        gates = [_gate(text) for text in gate]
        _refuse_twice([row["name"] for row in gates])
        workspace = add_workspace(path=path, name=name, gates=gates, gates_waived=no_gates)
        self.say(f"{workspace.name}  {workspace.repo_path}")

    def _list(self, **_: Any) -> None:
        rows = [["NAME", "ID", "TASKS", "GATES", "PATH"]]
        for workspace in Workspace.objects.all():
            count = str(workspace.tasks.count())
            gates, path = _gates(workspace), workspace.repo_path
            rows.append([workspace.name, workspace.id.hex[:8], count, gates, path])
        for line in table(rows, right=(2,), yielding=(GATES, NAME, PATH), width=self.width()):
            self.say(line)

    def _remove(self, *, workspace: str, delete_history: bool, **_: Any) -> None:
        row = workspace_named(workspace)
        remove_workspace(workspace=row, with_history=delete_history)
        self.say(f"{row.name} is no longer registered; {row.repo_path} is as it was")


def _gate(text: str) -> dict[str, Any]:
    try:
        gate = catalog.parse_gate(text)
    except catalog.GateError as error:
        raise ValidationFailed(f"--gate: {error}") from error
    return {"name": gate.name, "argv": [gate.program, *gate.arguments]}


def _gates(workspace: Workspace) -> str:
    if workspace.gates_waived:
        return "waived"
    return ",".join(["auto", *(gate["name"] for gate in workspace.gates)])


def _refuse_twice(names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValidationFailed(f"--gate: {twice} is given twice")
