"""The programs that make environments: where they are and which version, asked once a process."""

import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from batches.engines.environment import SYSTEM_PATH
from tasks.workspaces import commands

_ASK = (
    "import json, sys; print(json.dumps("
    "[sys.executable, '.'.join(map(str, sys.version_info[:3])), sys.prefix == sys.base_prefix]))"
)
_TIMEOUT_S = 30.0
_PINNED = re.compile(r"(?:cpython-)?(\d+)(?:\.(\d+)(?:\.(\d+))?)?")
_answers: dict[tuple[object, ...], bytes] = {}
_lock = threading.Lock()


class ProgramMissing(Exception):
    """The message is for a person and says what is asked for."""


@dataclass(frozen=True, kw_only=True)
class Program:
    path: Path
    version: str


def find_program(name: str, path: str) -> Program:
    """Raises ProgramMissing."""
    found = shutil.which(name, path=path)
    if found is None:
        raise ProgramMissing(f"{name} is not on the server's PATH.")
    said = _ask([found, "--version"], path).decode(errors="replace")
    number = re.search(r"\d+(?:\.\d+)+", said)
    if number is None:
        raise ProgramMissing(f"{found} does not say which version it is.")
    return Program(path=Path(found), version=number[0])


def find_python(wanted: str, path: str) -> Program:
    """An interpreter of the system; never one of a virtual environment, the server's least of all.

    `wanted` is the text of a `.python-version`; empty: the newest that is called python3.
    Raises ProgramMissing.
    """
    version = _PINNED.fullmatch(wanted) if wanted else None
    if wanted and version is None:
        raise ProgramMissing(f".python-version names {wanted!r}, which is no version of CPython.")
    parts = [part for part in version.groups() if part] if version else []
    for candidate in _candidates(parts, path):
        found = _as_interpreter(candidate, path)
        if found and found.version.split(".")[: len(parts)] == parts:
            return found
    asked = f"Python {wanted}" if wanted else "python3"
    raise ProgramMissing(f"{asked} is not on the server's PATH.")


def _candidates(parts: Sequence[str], path: str) -> list[str]:
    names = [f"python{'.'.join(parts[:2])}", "python3", "python"]
    folders = [folder for folder in path.split(os.pathsep) if folder] or list(SYSTEM_PATH)
    found = (shutil.which(name, path=folder) for name in names for folder in folders)
    return [program for program in dict.fromkeys(found) if program]


def _as_interpreter(program: str, path: str) -> Program | None:
    try:
        executable, version, is_base = json.loads(_ask([program, "-I", "-c", _ASK], path))
    except (ProgramMissing, ValueError):
        return None
    return Program(path=Path(executable), version=version) if is_base else None


def _ask(argv: Sequence[str], path: str) -> bytes:
    """Remembered until the program's file changes. Raises ProgramMissing."""
    status = Path(argv[0]).stat()
    key = (*argv, path, status.st_mtime_ns, status.st_ino)
    with _lock:
        if key in _answers:
            return _answers[key]
    with tempfile.TemporaryDirectory(prefix="codeframe-ask-") as home:  # yarn needs a real one
        env = commands.base_environment() | {"PATH": path, "HOME": home}
        try:
            done = commands.run(argv, cwd=Path(home), env=env, timeout_s=_TIMEOUT_S)
        except commands.CommandError as error:
            raise ProgramMissing(str(error)) from error
    if not done.ok:
        raise ProgramMissing(f"{argv[0]} does not run here.")
    with _lock:
        _answers[key] = done.stdout
    return done.stdout
