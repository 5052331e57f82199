"""Python environments: `uv sync` of a uv.lock, or a venv with pip for a requirements.txt."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from batches.provisioning.copying import copy_venv
from batches.provisioning.programs import Program, find_program, find_python
from batches.provisioning.requirement_files import (
    RequirementsRefused,
    lines_of,
    local_line,
    with_included,
)
from batches.provisioning.surroundings import Surroundings
from batches.provisioning.tools.base import Argv, Build, Need, NeedRefused, ReadFile

REQUIREMENTS = "requirements.txt"
PINNED_PYTHON = ".python-version"
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==[^;]+$")
_PROBE = """\
import importlib.metadata as m, json, re, sys
prefix, wanted = sys.argv[1], json.loads(sys.argv[2])
if sys.prefix != prefix: sys.exit(f"the interpreter is of {sys.prefix}, not of {prefix}")
have = {re.sub("[-_.]+", "-", d.metadata["Name"]).lower() for d in m.distributions()}
missing = [n for n in wanted if re.sub("[-_.]+", "-", n).lower() not in have]
if missing: sys.exit("not installed: " + ", ".join(missing))
print(sys.version.split()[0], "with", len(have), "distributions")
"""


class _Python:
    ecosystem = "python"

    def variables(self, build: Build) -> Mapping[str, str]:
        return {}

    def problem(self, build: Build) -> str:
        python = build.folder / "venv" / "bin" / "python"
        return "" if python.exists() else f"{python} was not made."

    def probe(self, build: Build) -> Sequence[Argv]:
        venv = build.folder / "venv"
        wanted = json.dumps(self.pinned(build.need))
        return [(str(venv / "bin" / "python"), "-I", "-c", _PROBE, str(venv), wanted)]

    def pinned(self, need: Need) -> list[str]:
        """Names that must be there afterwards."""
        return []

    def place(self, folder: Path, tree: Path, copy: Path | None, check: Callable[[], None]) -> None:
        if copy is not None:
            copy_venv(folder / "venv", copy / "venv", check)

    def surroundings(self, folder: Path, tree: Path) -> Surroundings:
        venv = folder / "venv"
        # Bytecode would be written into what is shared.
        variables = {"VIRTUAL_ENV": str(venv), "PYTHONDONTWRITEBYTECODE": "1"}
        return Surroundings(bins=(venv / "bin",), variables=variables)


class Pip(_Python):
    name = "pip"
    locks = (REQUIREMENTS,)
    reads = (PINNED_PYTHON,)

    def need(self, read: ReadFile) -> Need | None:
        try:
            files = with_included(REQUIREMENTS, lambda name: _text(read(name)))
        except RequirementsRefused as error:
            raise NeedRefused(str(error)) from error
        if here := local_line(files):
            raise NeedRefused(
                f"{here}: it installs from the tree itself, which an environment that is shared "
                "cannot hold; make that a set-up command, for example: pip install -e ."
            )
        if not any(True for text in files.values() for _ in lines_of(text)):
            return None
        encoded = {name: text.encode() for name, text in files.items()}
        return Need(tool=self.name, files=encoded, python=_wanted(read))

    def programs(self, need: Need, path: str) -> Mapping[str, Program]:
        return {"python": find_python(need.python, path)}

    def commands(self, build: Build) -> Sequence[Argv]:
        venv = build.folder / "venv"
        made: list[Argv] = [(str(build.programs["python"].path), "-m", "venv", str(venv))]
        if build.need.files:
            pip = (str(venv / "bin" / "python"), "-m", "pip", "install", "--no-input")
            made.append((*pip, "--disable-pip-version-check", "-r", REQUIREMENTS))
        return made

    def pinned(self, need: Need) -> list[str]:
        lines = [line for text in need.files.values() for _, line in lines_of(text.decode())]
        return [match[1] for match in map(_PINNED.match, lines) if match]


class Uv(_Python):
    name = "uv"
    locks = ("uv.lock",)
    reads = (PINNED_PYTHON, "pyproject.toml", "uv.toml")

    def need(self, read: ReadFile) -> Need | None:
        files = {name: read(name) for name in ("uv.lock", "pyproject.toml", "uv.toml")}
        if files["pyproject.toml"] is None:
            raise NeedRefused("uv.lock: there is no pyproject.toml beside it.")
        kept = {name: content for name, content in files.items() if content is not None}
        return Need(tool=self.name, files=kept, python=_wanted(read))

    def programs(self, need: Need, path: str) -> Mapping[str, Program]:
        return {"uv": find_program("uv", path), "python": find_python(need.python, path)}

    def commands(self, build: Build) -> Sequence[Argv]:
        uv, python = (str(build.programs[name].path) for name in ("uv", "python"))
        venv = str(build.folder / "venv")
        # With pip in it, so that set-up commands find one.
        return [
            (uv, "venv", "--seed", "--python", python, venv),
            (uv, "sync", "--frozen", "--no-install-project", "--inexact", "--compile-bytecode"),
        ]

    def variables(self, build: Build) -> Mapping[str, str]:
        """Copies, never links into a cache that others write to."""
        return {
            "UV_PROJECT_ENVIRONMENT": str(build.folder / "venv"),
            "UV_PYTHON": str(build.programs["python"].path),
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_LINK_MODE": "copy",
            "UV_NO_PROGRESS": "1",
        }


def _wanted(read: ReadFile) -> str:
    """The first line of a .python-version that says something."""
    text = _text(read(PINNED_PYTHON)) or ""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def _text(content: bytes | None) -> str | None:
    if content is None:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NeedRefused("a requirements file is not UTF-8 text.") from error
