import argparse
import json
import re
import shlex
from typing import Any

from batches.engines import ENGINES
from batches.engines.command import CommandEngine as Adapter
from batches.models import CommandEngine
from tasks.console import ConsoleCommand, Verbs
from tasks.errors import Conflict, NotFound, ValidationFailed
from tasks.tables import table
from tasks.text import clip

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
NAME, STATE, COMMAND = 0, 2, 3


class Command(ConsoleCommand):
    help = "Set up agents by name; batches choose them by that name."
    epilog = (
        "example:\n"
        "  manage.py engine add fixer --prompt-via stdin --pass-env MODEL_API_KEY -- fixer --yes"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        add = verbs.add("add", "Give a command line a name")
        add.usage = f"{add.prog} NAME [options] -- PROGRAM [WORD ...]"
        add.add_argument("name", metavar="NAME", help="letters, digits, dash, underscore")
        add.add_argument(
            "--prompt-via",
            choices=CommandEngine.PromptVia.values,
            default="file",
            help="how it gets its prompt, default: file",
        )
        add.add_argument(
            "--pass-env",
            action="append",
            default=[],
            metavar="NAME",
            help="a variable that it may see; may be given again",
        )
        add.add_argument(
            "--usage",
            default="",
            metavar="JSON",
            help="where its output tells tokens, as in docs/engines.md",
        )
        add.add_argument(
            "argv",
            nargs="+",
            metavar="WORD",
            help="after --: program and arguments, with placeholders as in docs/engines.md",
        )
        verbs.add("list", "Show what is set up, and whether it can run")
        remove = verbs.add("remove", "Forget one; batches that used it keep their record")
        remove.add_argument("name", metavar="NAME", help="as in engine list")

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb}")(**options)

    def _add(
        self,
        *,
        name: str,
        argv: list[str],
        prompt_via: str,
        pass_env: list[str],
        usage: str,
        **_: Any,
    ) -> None:
        if name in ENGINES or not _NAME.fullmatch(name):
            raise ValidationFailed(
                f"{clip(name, 60)!r} cannot name an engine: letters, digits, dash and underscore, "
                f"up to 100, and not {', '.join(ENGINES)}"
            )
        if CommandEngine.objects.filter(name=name).exists():
            raise Conflict(f"an engine named {name} exists already; manage.py engine remove {name}")
        row = CommandEngine(
            name=name, argv=argv, prompt_via=prompt_via, pass_env=pass_env, usage=_usage(usage)
        )
        problem = Adapter().check(row.options())
        if problem:
            raise ValidationFailed(problem.sentence)
        row.save(force_insert=True)
        self.say(f"{name}  {shlex.join(argv)}")

    def _list(self, **_: Any) -> None:
        lines = [["NAME", "PROMPT", "STATE", "COMMAND"]]
        for row in CommandEngine.objects.all():
            lines.append([row.name, row.prompt_via, _state(row), shlex.join(row.argv)])
        for line in table(lines, yielding=(COMMAND, STATE, NAME), width=self.width()):
            self.say(line)

    def _remove(self, *, name: str, **_: Any) -> None:
        deleted, _rows = CommandEngine.objects.filter(name=name).delete()
        if not deleted:
            raise NotFound(f"there is no engine {clip(name, 60)!r}")
        self.say(f"{name} is removed")


def _usage(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError as error:
        raise ValidationFailed(f"--usage is not JSON: {error}") from error


def _state(row: CommandEngine) -> str:
    problem = Adapter().check(row.options())
    if problem:
        return problem.sentence
    return "ok" if row.enabled else "switched off"
