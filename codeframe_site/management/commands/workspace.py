import argparse
from typing import Any

from batches.deletion import remove_workspace
from batches.errors import WorkspaceBusy
from batches.gates import catalog
from tasks.console import EXIT_BUSY, ConsoleCommand, table
from tasks.errors import ValidationFailed
from tasks.lookup import workspace_named
from tasks.models import Workspace
from tasks.workspaces.registry import add_workspace


class Command(ConsoleCommand):
    help = "Register git repositories that batches run on."
    exit_codes = {WorkspaceBusy: EXIT_BUSY}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|remove")
        add = verbs.add_parser("add", help="register a repository")
        add.add_argument("path", help="the repository's folder")
        add.add_argument("--name", default="", help="default: the folder's name")
        add.add_argument(
            "--gate", action="append", default=[], metavar="NAME=COMMAND", help="a gate of its own"
        )
        add.add_argument(
            "--no-gates", action="store_true", help="declare that it needs none: results are waived"
        )
        verbs.add_parser("list", help="show what is registered")
        remove = verbs.add_parser("remove", help="forget a repository; its files and refs stay")
        remove.add_argument("workspace", help="name, path or id")
        remove.add_argument("--delete-history", action="store_true")

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(**options)

    def _add(self, *, path: str, name: str, gate: list[str], no_gates: bool, **_: Any) -> None:
        gates = [_gate(text) for text in gate]
        workspace = add_workspace(path=path, name=name, gates=gates, gates_waived=no_gates)
        self.say(f"{workspace.name}  {workspace.repo_path}")

    def _list(self, **_: Any) -> None:
        rows = [["NAME", "ID", "TASKS", "GATES", "PATH"]]
        for workspace in Workspace.objects.all():
            gates = (
                "waived"
                if workspace.gates_waived
                else ",".join(["auto", *(gate["name"] for gate in workspace.gates)])
            )
            count = str(workspace.tasks.count())
            path = workspace.repo_path
            rows.append([workspace.name, workspace.id.hex[:8], count, gates, path])
        for line in table(rows, right=(2,)):
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
