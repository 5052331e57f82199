"""A tool of the tests' own, plugged in as any other: quick, and it does what its lock file says."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from batches.provisioning.programs import Program
from batches.provisioning.surroundings import Surroundings
from batches.provisioning.tools.base import Argv, Build, Need, ReadFile

NAME = "toy"
CLASS = f"{__name__}.Toy"


class Toy:
    """`toy.lock` is a script of sh, run in the folder `made` of the environment."""

    name = NAME
    locks = ("toy.lock",)
    reads = ()
    ecosystem = "toy"

    def need(self, read: ReadFile) -> Need | None:
        return Need(tool=self.name, files={"toy.lock": read("toy.lock") or b""})

    def programs(self, need: Need, path: str) -> Mapping[str, Program]:
        return {"sh": Program(path=Path("/bin/sh"), version="1.0")}

    def commands(self, build: Build) -> Sequence[Argv]:
        made = build.folder / "made" / "bin"
        return [("/bin/mkdir", "-p", str(made)), ("/bin/sh", "toy.lock", str(made))]

    def variables(self, build: Build) -> Mapping[str, str]:
        return {"TOY": "1"}

    def problem(self, build: Build) -> str:
        return ""

    def probe(self, build: Build) -> Sequence[Argv]:
        return []

    def place(self, folder: Path, tree: Path, copy: Path | None, check: Callable[[], None]) -> None:
        if copy is not None:
            (copy / "made" / "bin").mkdir(parents=True)

    def surroundings(self, folder: Path, tree: Path) -> Surroundings:
        return Surroundings(bins=(folder / "made" / "bin",), variables={"TOY_HOME": str(folder)})
