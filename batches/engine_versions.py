"""What programs of agents answer to --version, kept in a file so that no request starts one."""

import json
import time
from pathlib import Path
from typing import Any

from django.conf import settings

from batches import paths
from batches.engine_setup import with_settings
from batches.engines import AGENTS, load
from batches.engines.agent_cli import AgentEngine
from batches.engines.environment import build_environment, prepare_folders
from batches.supervisor.files import replace_note
from tasks.text import clip, one_line
from tasks.workspaces import commands

PROBE_SECONDS = 20.0
GOOD_FOR_SECONDS = 6 * 3600.0
ASK_AGAIN_SECONDS = 120.0
OUTPUT_BYTES = 64 * 1024
Notes = dict[str, dict[str, Any]]


def agent_engine(kind: str) -> AgentEngine:
    engine = load(kind)
    assert isinstance(engine, AgentEngine)
    return engine


def program_of(kind: str) -> str | None:
    return agent_engine(kind).find(with_settings(kind, {}))


def known(kind: str, program: str | None) -> dict[str, Any]:
    """What was found out about this very program; empty when it was not asked yet, or changed."""
    note = _read().get(kind, {})
    return note if program and note.get("stamp") == _stamp(program) else {}


def is_stale() -> bool:
    """A program is there that was not asked, or not lately."""
    return bool(_to_ask())


def ask_soon() -> bool:
    """True for one caller a while, who then has `refresh` done by a job."""
    if not is_stale():
        return False
    mark = _folder() / "asked"
    if mark.exists() and time.time() - mark.stat().st_mtime < ASK_AGAIN_SECONDS:
        return False
    mark.touch()
    return True


def refresh(*, everything: bool = False) -> None:
    """Asks each program that must be asked, within bounds. Takes seconds: never from a request."""
    for kind, program in _to_ask(everything=everything).items():
        note = {"stamp": _stamp(program), "at": time.time(), **_probe(program)}
        replace_note(_file(), _read() | {kind: note})


def _to_ask(*, everything: bool = False) -> dict[str, str]:
    programs = {kind: program for kind in AGENTS if (program := program_of(kind))}
    return {k: p for k, p in programs.items() if everything or not _is_fresh(known(k, p))}


def _is_fresh(note: dict[str, Any]) -> bool:
    return bool(time.time() - float(note.get("at", 0)) < GOOD_FOR_SECONDS)


def _probe(program: str) -> dict[str, str]:
    home, tmp = _folder() / "home", _folder() / "tmp"
    prepare_folders(home=home, tmp=tmp)
    env = build_environment(home=home, tmp=tmp, extra={"DISABLE_AUTOUPDATER": "1"})
    try:
        done = commands.run(
            [program, "--version"],
            cwd=home,
            env=env,
            timeout_s=PROBE_SECONDS,
            output_limit=OUTPUT_BYTES,
        )
    except commands.CommandError as error:
        return {"version": "", "problem": clip(str(error), 300)}
    said = one_line((done.stdout or done.stderr).decode("utf-8", "replace"))
    if not done.ok:
        return {"version": "", "problem": clip(f"{program} --version failed: {said}", 300)}
    return {"version": clip(said, 60), "problem": ""}


def _stamp(program: str) -> str:
    """Another file, or another content, is another program."""
    path = Path(program).resolve()
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{path} {stat.st_mtime_ns} {stat.st_size}"


def _read() -> Notes:
    try:
        notes = json.loads(_file().read_bytes())
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def _folder() -> Path:
    return paths.state_folder("engines")


def _file() -> Path:
    return Path(settings.STATE_DIR) / "engines" / "versions.json"
