"""Paths of the model, held inside the working tree once all links are followed."""

import os
from pathlib import Path


class ToolError(Exception):
    """What the model is told; the run goes on."""


class Jail:
    """Guards against mistakes. The shell is as free as the account it runs in."""

    def __init__(self, tree: Path) -> None:
        self.tree = Path(os.path.realpath(tree))

    def resolve(self, path: str) -> Path:
        """Where `path` leads, whether or not something is there. Raises ToolError."""
        try:
            found = Path(os.path.realpath(self.tree / path))
        except (ValueError, OSError) as error:  # NUL, a half surrogate pair, a name too long
            raise ToolError(f"{path!r} is no path: {error}") from error
        if found != self.tree and self.tree not in found.parents:
            raise ToolError(f"{path!r} is outside the working tree.")
        return found

    def file(self, path: str) -> Path:
        """A regular file that is there. Raises ToolError."""
        found = self.resolve(path)
        if found.is_dir():
            raise ToolError(f"{path!r} is a folder; use list_files.")
        if not found.exists():
            raise ToolError(f"{path!r} does not exist.")
        if not found.is_file():
            raise ToolError(f"{path!r} is no ordinary file.")
        return found

    def writable(self, path: str) -> Path:
        """Where a file may be written. Raises ToolError."""
        found = self.resolve(path)
        if found == self.tree or ".git" in (part.lower() for part in self._parts(found)):
            raise ToolError(f"{path!r} cannot be written: git's own files are not the task's.")
        return found

    def name(self, path: Path) -> str:
        return path.relative_to(self.tree).as_posix() or "."

    def _parts(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self.tree).parts
