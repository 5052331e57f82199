"""Where a program is."""

import shutil


def resolve_program(program: str, path: str) -> str | None:
    """The absolute path that `program` stands for, or None when nothing there can be run."""
    return shutil.which(program, path=path)
