"""A stand-in for an agent's command line: scripted by attempt, and tells how it was called."""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fakes import AGENT

SESSION = "5b1d0c1e-0000-4000-8000-000000000001"
"""Of the lines in tests/batches/engines/lines; kept in the home as Claude Code keeps it."""
_WRAPPER = """\
#!{python}
import json, os, sys
from pathlib import Path
folder = Path({folder!r})
attempt = os.environ["CODEFRAME_ATTEMPT"]
note = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(),
        "prompt": sys.stdin.read(), "files": sorted(os.listdir("."))}}
with (folder / "calls.jsonl").open("a") as log:
    log.write(json.dumps(note) + "\\n")
config = os.environ.get("CLAUDE_CONFIG_DIR")
if config:
    kept = Path(config, "projects", "here", {session!r} + ".jsonl")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
script = folder / f"attempt-{{attempt}}"
lines = (script if script.exists() else folder / "attempt-1").read_text().splitlines()
os.execv({agent[0]!r}, [*{agent!r}, *lines])
"""


class Program:
    """`script(*directives)` as in tests/fakes/agent.py; a file of lines is printed by `says`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / f"program-{name}"
        self.folder.mkdir()
        self.path = self.folder / name
        text = _WRAPPER.format(
            python=sys.executable, folder=str(self.folder), agent=AGENT, session=SESSION
        )
        self.path.write_text(text)
        self.path.chmod(0o755)

    def script(self, *directives: str, attempt: int = 1) -> None:
        (self.folder / f"attempt-{attempt}").write_text("\n".join(directives) + "\n")

    def says(self, lines: Sequence[bytes]) -> str:
        """The directive that prints them."""
        file = self.folder / f"lines-{len(list(self.folder.iterdir()))}"
        file.write_bytes(b"".join(line + b"\n" for line in lines))
        return f"sh {shlex.quote('cat ' + str(file))}"

    def calls(self) -> list[dict[str, Any]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
