"""The bare parts that a run cannot do without, each alone: the yardstick of our own overhead."""

import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from batches.integration import capture, merging, trees
from batches.supervisor.client import LaunchSpec, run_to_end
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect
from tests.bench.measure import Cost, measured
from tests.repos import ENVIRONMENT

REFS = "refs/heads/bench/"


class Parts:
    """One repository and a folder. `merging`: others have integrated since the run began."""

    def __init__(self, repository: Path, folder: Path, *, merging: bool) -> None:
        self._store = git.open_store(folder / "store", inspect(repository))
        self._folder = folder
        self._merging = merging
        self._base = self._store.repository.commit
        self._tip = self._base
        self._name = secrets.token_hex(4)
        self._branch = f"{REFS}{self._name}"
        self._captures: dict[int, str] = {}

    def measure(self, argv: Sequence[str], *, count: int) -> dict[str, Cost]:
        """By name, `count` times in the order of an attempt; `argv` is the agent."""
        parts: dict[str, Callable[[int], None]] = {
            "git clone --shared": self._clone,
            "own tree": self._make_tree,
            "supervisor": lambda number: self._supervise(number, argv),
            "capture": self._capture,
            "integrate": self._integrate,
        }
        costs = dict.fromkeys(parts, Cost())
        for number in range(count):
            for name, part in parts.items():
                with measured() as cost:
                    part(number)
                costs[name] += cost
            shutil.rmtree(self._clone_dir(number))
            trees.remove(self._tree(number))
        return costs

    def _clone_dir(self, number: int) -> Path:
        return self._folder / f"clone{number}"

    def _clone(self, number: int) -> None:
        places = (str(self._store.repository.path), str(self._clone_dir(number)))
        command = ["git", "clone", "--quiet", "--shared", *places]
        subprocess.run(command, env=ENVIRONMENT, check=True)

    def _tree(self, number: int) -> Path:
        return self._folder / f"tree{number}"

    def _make_tree(self, number: int) -> None:
        trees.create(
            self._store, tree_dir=self._tree(number), base=self._base, branch="codeframe/bench"
        )

    def _supervise(self, number: int, argv: Sequence[str]) -> None:
        spec = LaunchSpec(
            argv=tuple(argv),
            cwd=str(self._tree(number)),
            env={"PATH": ENVIRONMENT["PATH"], "CODEFRAME_TASK_ID": f"task{number}"},
        )
        record = run_to_end(self._folder / f"run{number}", spec, lambda: None)
        assert record.code == 0, record

    def _capture(self, number: int) -> None:
        captured = capture.capture(
            self._store,
            tree_dir=self._tree(number),
            base=self._base,
            run_id=f"bench-{self._name}-{number}",
            message="bench",
        )
        if captured.changed:
            self._captures[number] = captured.commit

    def _integrate(self, number: int) -> None:
        """Nothing to do for a run that changed nothing."""
        if number not in self._captures:
            return
        prepared = merging.prepare(
            self._store,
            tip=self._tip,
            base=self._base if self._merging else self._tip,
            capture=self._captures[number],
            message="bench",
        )
        assert isinstance(prepared, merging.Prepared)
        old = None if self._tip == self._base else self._tip
        git.publish(self._store, ref=self._branch, new=prepared.commit, old=old)
        self._tip = prepared.commit


def measure_parts(
    repository: Path, argv: Sequence[str], *, count: int, merging: bool
) -> dict[str, Cost]:
    with tempfile.TemporaryDirectory(prefix="codeframe-bench-parts-") as folder:
        return Parts(repository, Path(folder), merging=merging).measure(argv, count=count)
