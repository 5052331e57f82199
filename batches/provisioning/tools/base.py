"""The seam between a tree that asks for an environment and the tool that makes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from batches.provisioning.programs import Program
from batches.provisioning.surroundings import Surroundings

Argv = tuple[str, ...]
ReadFile = Callable[[str], bytes | None]
"""A regular file of the commit by its path in the tree; None when there is none."""


class NeedRefused(ValueError):
    """A lock file that no shared environment can be made of; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a tree asks of one tool: the files that decide what is installed, by path."""

    tool: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    python: str = ""


@dataclass(frozen=True, kw_only=True)
class Build:
    """`folder` is the environment's own and final: what is made there may know its path.

    `source` holds the need's files, and nothing else of the tree.
    """

    folder: Path
    need: Need
    programs: Mapping[str, Program]

    @property
    def source(self) -> Path:
        return self.folder / "source"


class Tool(Protocol):
    name: str
    locks: tuple[str, ...]
    """Files at the top of the tree, any of which asks for this tool."""
    reads: tuple[str, ...]
    """Further files at the top that it may ask for."""
    ecosystem: str
    """Of several tools that one ecosystem's lock files ask for, the first is taken."""

    def need(self, read: ReadFile) -> Need | None:
        """None when there is nothing to install. Raises NeedRefused."""
        ...

    def programs(self, need: Need, path: str) -> Mapping[str, Program]:
        """What it takes to build; their versions are part of the environment's key.

        Raises ProgramMissing.
        """
        ...

    def commands(self, build: Build) -> Sequence[Argv]: ...

    def variables(self, build: Build) -> Mapping[str, str]:
        """For the commands of the build."""
        ...

    def problem(self, build: Build) -> str:
        """What is wrong with what was built, as far as files tell; empty when nothing is."""
        ...

    def probe(self, build: Build) -> Sequence[Argv]:
        """Commands that must succeed in what was built."""
        ...

    def place(self, folder: Path, tree: Path, copy: Path | None, check: Callable[[], None]) -> None:
        """Bring it to a tree: shared, or into `copy` and the tree as this tree's own."""
        ...

    def surroundings(self, folder: Path, tree: Path) -> Surroundings:
        """`folder` is the environment's or the copy's."""
        ...
