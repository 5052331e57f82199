"""What docs/states.md, docs/settings.md and docs/events.md must say, made from the code.

`python -m tests.architecture` shows the tables to paste.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from batches.configuration.keys import KEYS
from batches.models.batch import BATCH_TRANSITIONS
from batches.models.run import RUN_TRANSITIONS
from tasks.events import types
from tasks.models.task import TASK_TRANSITIONS
from tests.architecture.source import ROOT

if TYPE_CHECKING:
    from tasks.models import Event

TABLES: dict[str, Mapping[str, frozenset[str]]] = {
    "Task": {str(a): frozenset(map(str, b)) for a, b in TASK_TRANSITIONS.items()},
    "Batch": {str(a): frozenset(map(str, b)) for a, b in BATCH_TRANSITIONS.items()},
    "Run": {str(a): frozenset(map(str, b)) for a, b in RUN_TRANSITIONS.items()},
}
_READ_SETTINGS = """
import json
from codeframe_site import env, settings
print(json.dumps(env.READ))
"""


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def state_table(name: str) -> str:
    """In the order of the statuses' definition, both ways."""
    table = TABLES[name]
    order = list(table)
    lines = ["| from | may become |", "|---|---|"]
    for source, targets in table.items():
        shown = ", ".join(sorted(targets, key=order.index)) or "nothing: it is final"
        lines.append(f"| {source} | {shown} |")
    return "\n".join(lines)


def settings_table(folder: str) -> str:
    """Settings as read by a process that has none of our variables; `folder` is for its files."""
    lines = ["| variable | default | what it does |", "|---|---|---|"]
    for name, (default, about) in _read_settings(folder).items():
        shown = default if " " in default else f"`{default}`"
        lines.append(f"| `{name}` | {shown if default else 'empty'} | {about} |")
    return "\n".join(lines)


def _read_settings(folder: str) -> dict[str, tuple[str, str]]:
    ours = ("CODEFRAME_", "DATABASE_URL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    clean["CODEFRAME_STATE_DIR"] = folder
    done = subprocess.run(
        [sys.executable, "-c", _READ_SETTINGS],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    read: dict[str, tuple[str, str]] = json.loads(done.stdout)
    return read


def configuration_table() -> str:
    lines = ["| key | default | what it does | example |", "|---|---|---|---|"]
    for key in KEYS:
        default = "none" if key.default in (None, "", []) else f"`{json.dumps(key.default)}`"
        about = key.about.replace("|", "\\|")
        lines.append(f"| `{key.name}` | {default} | {about} | `{key.example}` |")
    return "\n".join(lines)


def event_names() -> list[str]:
    """In the order of tasks/events/types.py."""
    return [value for name, value in vars(types).items() if name.isupper() and name == value]


@cache
def documented_events() -> dict[str, list[str]]:
    """Name -> payload keys as docs/events.md lists them; optional ones end in a question mark."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([^|]*) \|", page("events.md"), flags=re.MULTILINE)
    return {name: re.findall(r"`([a-z_]+\??)`", keys) for name, keys in rows}


def undocumented_keys(event: "Event") -> set[str]:
    """Keys of the payload that the page lacks, and keys of the page that the payload lacks."""
    listed = documented_events()[event.type]
    known = {key.rstrip("?") for key in listed}
    always = {key for key in listed if not key.endswith("?")}
    return (set(event.payload) - known) | (always - set(event.payload))


def everything(folder: str) -> Iterator[str]:
    for name in TABLES:
        yield f"docs/states.md, {name}:\n\n{state_table(name)}\n"
    yield f"docs/settings.md:\n\n{settings_table(folder)}\n"
    yield f"docs/configuration.md:\n\n{configuration_table()}\n"
    missing = [name for name in event_names() if name not in documented_events()]
    yield f"docs/events.md lacks: {', '.join(missing) or 'nothing'}\n"
