from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from batches.integration import capture as capturing
from batches.integration import trees
from batches.integration.capture import Capture
from tasks.workspaces.git import Store, open_store
from tasks.workspaces.inspection import inspect
from tests.repos import Content, make_repository, write_files

LONG = [f"line {number}\n" for number in range(30)]
FILES: dict[str, Content] = {
    "a.txt": "one\ntwo\nthree\n",
    "src/b.py": "b = 1\n",
    "run.sh": "ls\n",
    "long.txt": "".join(LONG),
}


def long_with(number: int, line: str) -> str:
    """The long file with one line changed, far from the others."""
    return "".join([*LONG[:number], line, *LONG[number + 1 :]])


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One repository, our store for it, and a folder for trees."""

    repository: Path
    store: Store
    folder: Path
    base: str

    def tree(self, name: str = "run1", base: str | None = None) -> Path:
        path = self.folder / "trees" / name
        trees.create(
            self.store, tree_dir=path, base=base or self.base, branch=f"codeframe/run-{name}"
        )
        return path

    def capture(self, tree: Path, base: str | None = None, message: str = "Do it") -> Capture:
        return capturing.capture(
            self.store, tree_dir=tree, base=base or self.base, run_id=tree.name, message=message
        )

    def run(self, name: str, files: Mapping[str, Content], base: str | None = None) -> Capture:
        """An agent's whole work: a tree, some files, the capture."""
        tree = self.tree(name, base)
        write_files(tree, files)
        return self.capture(tree, base)


def bench_for(repository: Path, folder: Path) -> Bench:
    found = inspect(repository)
    store = open_store(folder / "store", found)
    return Bench(repository=repository, store=store, folder=folder, base=found.commit)


MakeBench = Callable[..., Bench]


@pytest.fixture
def make_bench(tmp_path: Path) -> MakeBench:
    def make(files: Mapping[str, Content] | None = None, **options: str) -> Bench:
        repository = make_repository(tmp_path / "repository", files or FILES, **options)
        return bench_for(repository, tmp_path / "state")

    return make


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    return make_bench()
