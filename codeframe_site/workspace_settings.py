"""The verbs of `manage.py workspace` that show and change how a workspace's runs are prepared."""

import json
from typing import Any

from batches.configuration.changing import current, set_config, trust_file
from batches.configuration.effective import Effective, FileState
from batches.configuration.keys import KEYS
from batches.configuration.reading import PATH, ConfigInvalid, nested, read_value
from batches.models import RecipeCommand
from batches.models.recipe import Decision
from batches.provisioning.recipe import add_command, command_of, decide_command
from tasks.audit import person_at_the_console
from tasks.console import ConsoleCommand, Verbs
from tasks.errors import ValidationFailed
from tasks.lookup import workspace_named
from tasks.models import Workspace
from tasks.tables import table

_UNTRUSTED = "it does not hold until somebody trusts it: manage.py workspace trust {name} {digest}"


class ConfigurationVerbs(ConsoleCommand):
    def _config(
        self, *, workspace: str, set: list[str], unset: list[str], json: bool, **_: Any
    ) -> None:
        row = workspace_named(workspace)
        if set or unset:
            values = _changed(dict(row.config), set, unset)
            set_config(workspace=row, config=nested(values), by=person_at_the_console())
        found = current(row)
        self._show(row, found, as_json=json)

    def _show(self, row: Workspace, found: Effective, *, as_json: bool) -> None:
        if as_json:
            body = {"values": found.values, "sources": found.sources, "file": _file(found)}
            self.hand_out(json.dumps(body))
            return
        rows = [["KEY", "VALUE", "FROM"]]
        for key in KEYS:
            value = json.dumps(found.values[key.name], ensure_ascii=False)
            rows.append([key.name, value, found.sources.get(key.name, "default")])
        for line in table(rows, yielding=(1,), width=self.width()):
            self.say(line)
        if found.file.state is FileState.INVALID:
            self.say(f"{PATH} does not hold: {found.file.problem}")
        elif found.file.state is FileState.UNTRUSTED:
            hint = _UNTRUSTED.format(name=row.name, digest=found.file.digest[:12])
            self.say(f"{PATH} is there; {hint}")

    def _trust(self, *, workspace: str, digest: str, **_: Any) -> None:
        """Without a digest it shows what there is to read."""
        row = workspace_named(workspace)
        if digest:
            file = trust_file(workspace=row, digest=digest, by=person_at_the_console())
            self.say(f"{PATH} with the content {file.digest[:12]} holds now in {row.name}")
            return
        found = current(row).file
        self.say(found.content.decode(errors="replace").rstrip() or f"there is no {PATH}")
        if found.problem:
            self.say(f"# it does not hold: {found.problem}")
        elif found.digest:
            self.say(f"# {found.state}; to trust: workspace trust {row.name} {found.digest[:12]}")

    def _recipe(
        self, *, workspace: str, add: list[str], approve: list[int], refuse: list[int], **_: Any
    ) -> None:
        row, by = workspace_named(workspace), person_at_the_console()
        for text in add:
            add_command(workspace=row, text=text, by=by)
        for decision, ids in ((Decision.REFUSED, refuse), (Decision.APPROVED, approve)):
            for number in ids:
                decide_command(command=command_of(row, number), decision=decision, by=by)
        rows = [["ID", "DECISION", "BY", "COMMAND"]]
        for command in RecipeCommand.objects.filter(workspace=row):
            rows.append([str(command.id), command.decision, command.decided_by, command.text])
        for line in table(rows, yielding=(3, 2), width=self.width()):
            self.say(line)


def add_configuration_verbs(verbs: Verbs) -> None:
    config = verbs.add("config", "Show the configuration that holds, or change it here")
    config.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="VALUE is YAML"
    )
    config.add_argument(
        "--unset", action="append", default=[], metavar="KEY", help="as in the file, or its default"
    )
    config.add_argument("--json", action="store_true", help="one object on one line")
    trust = verbs.add("trust", f"Show {PATH} of the repository's commit, or let it hold")
    recipe = verbs.add("recipe", "Show set-up commands, approve what agents offer, or add one")
    recipe.add_argument(
        "--add", action="append", default=[], metavar="COMMAND", help="yours, and so approved"
    )
    for verb, about in (("approve", "from the next batch on"), ("refuse", "and keep it refused")):
        recipe.add_argument(
            f"--{verb}", action="append", default=[], type=int, metavar="ID", help=about
        )
    for parser in (config, trust, recipe):
        parser.add_argument("workspace", metavar="WORKSPACE", help="name, path or id")
    trust.add_argument(
        "digest", metavar="DIGEST", nargs="?", default="", help="of the content that you have read"
    )


def _changed(values: dict[str, Any], given: list[str], unset: list[str]) -> dict[str, Any]:
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValidationFailed(f"--set: {text!r} is not KEY=VALUE")
        try:
            values[name] = read_value(value)
        except ConfigInvalid as error:
            raise ValidationFailed(f"--set: {name}: {error}") from error
    known = {key.name for key in KEYS}
    for name in unset:
        if name not in known:
            raise ValidationFailed(f"--unset: {name!r} is not a key of the configuration")
        values.pop(name, None)
    return values


def _file(found: Effective) -> dict[str, Any]:
    return {
        "state": found.file.state,
        "digest": found.file.digest,
        "problem": found.file.problem,
    }
