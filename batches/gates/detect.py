"""Which gates a tree asks for, by the files that are in it."""

import configparser
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from batches.gates.evidence import read_regular

_MAX_CONFIG_BYTES = 1024 * 1024
_MAX_ENTRIES = 20_000
_TEST_FOLDERS = ("tests", "test")


def asks_for_pytest(tree: Path) -> bool:
    return (
        _has_any(tree, ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py"))
        or _has_tool(tree, "pytest")
        or _has_section(tree / "tox.ini", "pytest")
        or _has_section(tree / "setup.cfg", "tool:pytest")
        or any(_is_test_file(name) for name in _test_file_names(tree))
    )


def asks_for_ruff(tree: Path) -> bool:
    return _has_any(tree, ("ruff.toml", ".ruff.toml")) or _has_tool(tree, "ruff")


def _has_any(tree: Path, names: tuple[str, ...]) -> bool:
    return any((tree / name).is_file() for name in names)


def _has_tool(tree: Path, tool: str) -> bool:
    content = read_regular(tree / "pyproject.toml", max_bytes=_MAX_CONFIG_BYTES)
    if content is None:
        return False
    try:
        tools: Any = tomllib.loads(content.decode()).get("tool", {})
    except ValueError:
        # A broken file must not switch its gates off: the gate then says what is wrong with it.
        return f"[tool.{tool}".encode() in content
    return isinstance(tools, dict) and tool in tools


def _has_section(path: Path, section: str) -> bool:
    content = read_regular(path, max_bytes=_MAX_CONFIG_BYTES)
    if content is None:
        return False
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(content.decode(errors="replace"))
    except configparser.Error:
        return f"[{section}]".encode() in content
    return parser.has_section(section)


def _test_file_names(tree: Path) -> Iterator[str]:
    """Files at the top and everything in the test folders, within a bound."""
    seen = 0
    for top in (tree, *(tree / name for name in _TEST_FOLDERS)):
        for _, folders, files in os.walk(top):
            if top is tree:
                folders.clear()
            seen += len(folders) + len(files)
            yield from files
            if seen > _MAX_ENTRIES:
                return


def _is_test_file(name: str) -> bool:
    return name == "conftest.py" or (
        name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
    )
