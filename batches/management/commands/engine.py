import argparse
from typing import Any

from batches.engines.command import CommandEngine as Adapter
from batches.models import CommandEngine
from tasks.console import ConsoleCommand, table
from tasks.errors import Conflict, NotFound, ValidationFailed


class Command(ConsoleCommand):
    help = "Set up agents by name; batches choose them by that name."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|remove")
        add = verbs.add_parser("add", help="engine add NAME [options] -- PROGRAM [WORD ...]")
        add.add_argument("name")
        add.add_argument("--prompt-via", choices=CommandEngine.PromptVia.values, default="file")
        add.add_argument("--pass-env", action="append", default=[], metavar="NAME")
        add.add_argument("argv", nargs="+", help="after --, placeholders as in docs/engines.md")
        verbs.add_parser("list", help="show what is set up")
        remove = verbs.add_parser("remove", help="forget one; finished batches keep their record")
        remove.add_argument("name")

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(**options)

    def _add(
        self, *, name: str, argv: list[str], prompt_via: str, pass_env: list[str], **_: Any
    ) -> None:
        if name == "command" or not name.replace("-", "").replace("_", "").isalnum():
            raise ValidationFailed(f"{name!r} cannot name an engine: letters, digits, dash")
        if CommandEngine.objects.filter(name=name).exists():
            raise Conflict(f"an engine named {name} exists already")
        options = {"argv": argv, "prompt_via": prompt_via, "pass_env": pass_env}
        problem = Adapter().check(options)
        if problem:
            raise ValidationFailed(problem.sentence)
        CommandEngine.objects.create(name=name, **options)
        self.say(f"{name}  {' '.join(argv)}")

    def _list(self, **_: Any) -> None:
        lines = [["NAME", "PROMPT", "STATE", "COMMAND"]]
        for row in CommandEngine.objects.all():
            options = {"argv": row.argv, "prompt_via": row.prompt_via, "pass_env": row.pass_env}
            problem = Adapter().check(options)
            state = problem.sentence if problem else "ok" if row.enabled else "switched off"
            lines.append([row.name, row.prompt_via, state, " ".join(row.argv)])
        for line in table(lines):
            self.say(line)

    def _remove(self, *, name: str, **_: Any) -> None:
        deleted, _rows = CommandEngine.objects.filter(name=name).delete()
        if not deleted:
            raise NotFound(f"there is no engine {name!r}")
        self.say(f"{name} is removed")
