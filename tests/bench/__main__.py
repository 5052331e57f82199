"""python -m tests.bench [NAME ...] [--out FOLDER]"""

import argparse
import os
from importlib import import_module
from pathlib import Path

from tests.bench.place import own_place

BENCHES = {
    "planning": "Creating and loading batches of 10,000 tasks",
    "completion": "One completion, without an agent",
    "latency": "From commit to agent, from kill to takeover, from cancel to the end",
    "load": "/health beside slow clients, waiting requests and agents that print",
    "streams": "Events from their commit to the clients of a web server",
    "overhead": "One task in a batch of 50 that do next to nothing",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="append JSON lines there too")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(BENCHES):
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeframe_site.settings")
    with own_place():
        for name in chosen.names or BENCHES:
            _run(name, chosen.out)


def _run(name: str, out: Path | None) -> None:
    from tests.bench import report

    about = report.machine()
    rows = import_module(f"tests.bench.{name}").run()
    report.show(f"{BENCHES[name]} ({', '.join(f'{k} {v}' for k, v in about.items())})", rows)
    if out:
        print(f"\n{report.save(out, name, about, rows)}")


if __name__ == "__main__":
    main()
