"""python -m pocketbook LEDGER [--symbol €] [--limit groceries=300]"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from .categories import by_category
from .display import display
from .entries import read_ledger
from .limits import parse_limits, warnings
from .report import render


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        limits = parse_limits(options.limit)
        entries = read_ledger(options.ledger.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError) as problem:
        sys.stderr.write(f"pocketbook: {problem}\n")
        return 2
    sys.stdout.write(render(entries, partial(display, symbol=options.symbol)))
    over = warnings(by_category(entries), limits)
    sys.stdout.writelines(f"\n! {warning}\n" for warning in over)
    return 1 if over else 0


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="pocketbook", description="Adds up a ledger.")
    result.add_argument("ledger", type=Path)
    result.add_argument("--symbol", default="", help="of the currency, for example €")
    result.add_argument("--limit", action="append", default=[], metavar="CATEGORY=AMOUNT")
    return result


if __name__ == "__main__":
    sys.exit(main())
