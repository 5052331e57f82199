"""Rows as a table for a person, and as JSON lines for a program."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import connection

Row = dict[str, Any]


def machine() -> Row:
    """What figures depend on; named beside them."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "git": git.stdout.split()[2],
        "database": f"{connection.vendor} {'.'.join(map(str, connection.get_database_version()))}",
        "load": round(os.getloadavg()[0], 1),
    }


def show(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}\n")
    names = list(rows[0])
    cells = [names, *([_text(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in (cells[0], ["-" * width for width in widths], *cells[1:]):
        pairs = list(zip(line, widths, strict=True))
        first, *rest = pairs
        print("| " + " | ".join([first[0].ljust(first[1]), *(t.rjust(w) for t, w in rest)]) + " |")


def save(folder: Path, name: str, about: Row, rows: Sequence[Row]) -> Path:
    """Appends, so that runs can be compared."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    stamp = {"bench": name, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    with path.open("a") as file:
        for row in rows:
            file.write(json.dumps(stamp | {"machine": about} | row) + "\n")
    return path


def _text(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value}"
