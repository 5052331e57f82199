"""Which command runs a tree's tests."""

import json
import re
import shlex
from pathlib import Path

PYTHON_SIGNS = ("pytest.ini", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "tests")
MOST_BYTES = 1024 * 1024


def test_command(tree: Path, test_path: str | None, *, verbose: bool) -> str | None:
    """None when there is no sign of tests that we know."""
    where = shlex.quote(test_path) if test_path else ""
    if _script(tree / "package.json", "test"):
        return f"npm test --silent -- {where}".strip()
    if (tree / "Cargo.toml").is_file():
        return f"cargo test {where}".strip()
    if (tree / "go.mod").is_file():
        return f"go test {'-v ' if verbose else ''}{where or './...'}"
    if any((tree / name).exists() for name in PYTHON_SIGNS) or _has_python_tests(tree):
        return f"{_python(tree)} -m pytest {'-v' if verbose else '-q'} {where}".strip()
    if re.search(r"^test\s*:", _text(tree / "Makefile"), re.M):
        return "make test"
    return None


def _python(tree: Path) -> str:
    own = tree / ".venv" / "bin" / "python"
    return ".venv/bin/python" if own.exists() else "python3"


def _has_python_tests(tree: Path) -> bool:
    return any(tree.glob("test_*.py")) or any(tree.glob("*_test.py"))


def _script(file: Path, name: str) -> bool:
    try:
        package = json.loads(_text(file) or "{}")
    except (ValueError, RecursionError):
        return False
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return isinstance(scripts, dict) and bool(scripts.get(name))


def _text(file: Path) -> str:
    if not file.is_file() or file.stat().st_size > MOST_BYTES:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")
