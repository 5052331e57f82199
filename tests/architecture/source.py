"""The product's own source, parsed once for all the rules that are checked on it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("codeframe_site", "batches", "tasks", "costs")
SHIPPED_EXAMPLES = ROOT / "codeframe_site" / "demo"
"""Its project/ and steps/ are what the demo's agent writes, not our code."""


@dataclass(frozen=True)
class Source:
    path: Path
    tree: ast.Module
    lines: int

    @property
    def name(self) -> str:
        """Relative to the repository, with forward slashes."""
        return self.path.relative_to(ROOT).as_posix()


def read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(path=path, tree=ast.parse(text, str(path)), lines=len(text.splitlines()))


@cache
def product() -> tuple[Source, ...]:
    """Every module of the four apps and manage.py; migrations are generated and left out."""
    paths = [ROOT / "manage.py", *(p for app in APPS for p in sorted((ROOT / app).rglob("*.py")))]
    return tuple(read(path) for path in paths if _is_ours(path))


@cache
def all_tests() -> tuple[Source, ...]:
    return tuple(read(path) for path in sorted((ROOT / "tests").rglob("*.py")))


def _is_ours(path: Path) -> bool:
    examples = (SHIPPED_EXAMPLES / "project", SHIPPED_EXAMPLES / "steps")
    return "migrations" not in path.parts and not any(path.is_relative_to(e) for e in examples)


def under(*folders: str) -> Iterator[Source]:
    return (s for s in product() if any(s.name.startswith(f"{folder}/") for folder in folders))


def imported_modules(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Dotted names as written, `from a import b` as both `a` and `a.b`, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base, node.lineno
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a chain of names; calls and subscripts in between are passed through."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    return ""
