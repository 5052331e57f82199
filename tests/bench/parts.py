"""The bare parts that a run cannot do without, each alone: the yardstick of our own overhead."""

import secrets
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from batches.integration import capture, merging, trees
from batches.supervisor.client import LaunchSpec, run_to_end
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect
from tests.bench.measure import Cost, measured
from tests.repos import ENVIRONMENT

REFS = "refs/heads/bench/"


class Parts:
    """One repository and a folder; each part is done `count` times by `parallel` threads."""

    def __init__(self, repository: Path, folder: Path, *, count: int, parallel: int) -> None:
        self._store = git.open_store(folder / "store", inspect(repository))
        self._folder = folder
        self._count = count
        self._parallel = parallel
        self._base = self._store.repository.commit
        self._tip = self._base
        self._name = secrets.token_hex(4)
        self._branch = f"{REFS}{self._name}"
        self._captures: dict[int, str] = {}
        self._integrating = Lock()

    def measure(self, argv: Sequence[str]) -> dict[str, Cost]:
        """By name, in the order of an attempt; `argv` is the agent."""
        parts: dict[str, Callable[[int], object]] = {
            "git clone --shared": self._clone,
            "own tree": self._make_tree,
            "supervisor": lambda number: self._supervise(number, argv),
            "capture": self._capture,
            "integrate": self._integrate,
        }
        return {name: self._done_by_all(part) for name, part in parts.items()}

    def _done_by_all(self, part: Callable[[int], object]) -> Cost:
        with ThreadPoolExecutor(self._parallel) as pool, measured() as cost:
            list(pool.map(part, range(self._count)))
        return cost

    def _clone(self, number: int) -> None:
        source = self._store.repository.path
        target = self._folder / f"clone{number}"
        command = ["git", "clone", "--quiet", "--shared", str(source), str(target)]
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
        with self._integrating:
            prepared = merging.prepare(
                self._store,
                tip=self._tip,
                base=self._base if self._parallel > 1 else self._tip,
                capture=self._captures[number],
                message="bench",
            )
            assert isinstance(prepared, merging.Prepared)
            old = None if self._tip == self._base else self._tip
            git.publish(self._store, ref=self._branch, new=prepared.commit, old=old)
            self._tip = prepared.commit


def measure_parts(
    repository: Path, argv: Sequence[str], *, count: int, parallel: int
) -> dict[str, Cost]:
    with tempfile.TemporaryDirectory(prefix="codeframe-bench-parts-") as folder:
        return Parts(repository, Path(folder), count=count, parallel=parallel).measure(argv)
