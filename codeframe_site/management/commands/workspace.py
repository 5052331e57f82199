import argparse
from typing import Any

from batches.deletion import remove_workspace
from batches.errors import WorkspaceBusy
from batches.gates import catalog
from codeframe_site.workspace_settings import ConfigurationVerbs, add_configuration_verbs
from tasks.audit import person_at_the_console
from tasks.console import EXIT_BUSY, Verbs
from tasks.errors import ValidationFailed
from tasks.lookup import workspace_named
from tasks.members import remove_member, set_member, user_named
from tasks.models import Workspace
from tasks.models.membership import Role
from tasks.tables import table
from tasks.workspaces.registry import add_workspace

NAME, GATES, PATH = 0, 3, 4


class Command(ConfigurationVerbs):
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

        _add_member_verbs(verbs)
        add_configuration_verbs(verbs)

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb.replace('-', '_')}")(**options)

    def _add(self, *, path: str, name: str, gate: list[str], no_gates: bool, **_: Any) -> None:
        if gate and no_gates:
            raise ValidationFailed("--gate and --no-gates exclude each other")
        gates = [_gate(text) for text in gate]
        _refuse_twice([row["name"] for row in gates])
        by = person_at_the_console()
        workspace = add_workspace(path=path, name=name, gates=gates, gates_waived=no_gates, by=by)
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
        by = person_at_the_console()
        remove_workspace(workspace=row, with_history=delete_history, by=by)
        self.say(f"{row.name} is no longer registered; {row.repo_path} is as it was")

    def _members(self, *, workspace: str, **_: Any) -> None:
        rows = [["USER", "ROLE"]]
        for member in workspace_named(workspace).memberships.select_related("user"):
            rows.append([member.user.username, member.role])
        for line in table(rows, width=self.width()):
            self.say(line)

    def _add_member(self, *, workspace: str, user: str, role: str, **_: Any) -> None:
        row, person = workspace_named(workspace), user_named(user)
        set_member(workspace=row, user=person, role=Role(role), by=person_at_the_console())
        self.say(f"{person.username} is {role} of {row.name}")

    def _remove_member(self, *, workspace: str, user: str, **_: Any) -> None:
        row, person = workspace_named(workspace), user_named(user)
        remove_member(workspace=row, user=person, by=person_at_the_console())
        self.say(f"{person.username} is no member of {row.name} any more")


def _add_member_verbs(verbs: Verbs) -> None:
    members = verbs.add("members", "Show who belongs to a workspace")
    add = verbs.add("add-member", "Let somebody in, or change the role")
    remove = verbs.add("remove-member", "Let somebody in no more")
    for verb in (members, add, remove):
        verb.add_argument("workspace", metavar="WORKSPACE", help="name, path or id")
    for verb in (add, remove):
        verb.add_argument("user", metavar="USER", help="the account's name")
    add.add_argument(
        "--role",
        choices=Role.values,
        default=Role.VIEWER,
        help="viewer (default) looks, operator works, admin changes the workspace and its members",
    )


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
