import argparse
import json
from dataclasses import asdict
from typing import Any

from batches import engine_versions
from batches.engine_list import EngineInfo, engines
from tasks.console import ConsoleCommand
from tasks.tables import table

NAME, VERSION, LOGIN, STATE = 0, 1, 2, 3


class Command(ConsoleCommand):
    help = "List every engine: its version, its log-in, and what is missing."
    epilog = (
        "Each program is asked for its version, at most once in six hours.\n"
        "Command lines of your own are set up with manage.py engine; docs/engines.md has more."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object for each engine")
        parser.add_argument("--refresh", action="store_true", help="ask every program again")

    def run(self, **options: Any) -> None:
        engine_versions.refresh(everything=options["refresh"])
        found = engines()
        if options["json"]:
            for info in found:
                self.say(json.dumps(asdict(info)))
            return
        lines = [["NAME", "VERSION", "LOG-IN", "STATE"], *map(_row, found)]
        for line in table(lines, yielding=(STATE, LOGIN, VERSION, NAME), width=self.width()):
            self.say(line)
        for info in found:
            if info.get:
                self.say(f"to get {info.name}: {info.get}")


def _row(info: EngineInfo) -> list[str]:
    return [info.name, info.version, info.login, info.problem or f"ready: {info.path}"]
