import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.gates.catalog import select
from batches.gates.outcomes import GateResult
from batches.gates.verify import run_gates

# The tests' own environment stands for the tools that a host has on its PATH.
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


class Project:
    """A small tree, and the gates run on it."""

    def __init__(self, root: Path) -> None:
        self.tree = root / "tree"
        self.run_dir = root / "run"
        self.tree.mkdir()

    def write(self, name: str, content: str = "") -> "Project":
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return self

    def listing(self) -> list[str]:
        return sorted(str(path.relative_to(self.tree)) for path in self.tree.rglob("*"))

    def run(self, gates=("pytest",), *, path=PATH, should_stop=lambda: None, **options):
        chosen = gates
        if gates and all(isinstance(gate, str) for gate in gates):
            chosen = select(gates, self.tree)
        return run_gates(
            chosen,
            tree=self.tree,
            run_dir=self.run_dir,
            path=path,
            should_stop=should_stop,
            **options,
        )

    def pytest(self, **options) -> GateResult:
        (result,) = self.run(**options)
        return result


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes an executable shell script."""

    def make(name: str, content: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{content}\n")
        path.chmod(0o755)
        return path

    return make
