"""Where a gate's program is: an environment made for the tree, the tree's own, the repository's,
then the given PATH."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ENVIRONMENTS = (".venv", "venv")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """`bin` is the virtual environment's folder of programs, when the tool is in one."""

    program: Path
    bin: Path | None = None
    of_tree: bool = False

    @property
    def python(self) -> Path | None:
        """The environment's interpreter."""
        if self.bin is None or not _runs(self.bin / "python"):
            return None
        return self.bin / "python"


def find_tool(
    program: str,
    *,
    tree: Path,
    repository: Path | None,
    path: str,
    bins: Sequence[Path] = (),
) -> Tool | None:
    """`bins` are of the environment that was made for the tree, and come first."""
    if "/" in program:
        named = tree / program
        return Tool(program=named, of_tree=True) if _runs(named) else None
    for folder in bins:
        if _runs(folder / program):
            return Tool(program=folder / program, bin=folder)
    for root in (tree, repository):
        tool = root and _in_environment_of(root, program, of_tree=root == tree)
        if tool:
            return tool
    found = shutil.which(program, path=path)
    return Tool(program=Path(found)) if found else None


def _in_environment_of(root: Path, program: str, *, of_tree: bool) -> Tool | None:
    folders = (root / name / "bin" for name in _ENVIRONMENTS)
    for folder in folders:
        if _runs(folder / program):
            return Tool(program=folder / program, bin=folder, of_tree=of_tree)
    return None


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
