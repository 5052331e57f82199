"""A process of ours is killed before or after each of its git calls; the next one goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.integration import checkouts, trees
from batches.integration.landing import Landing, land
from tasks.workspaces.git import list_refs
from tests.batches.integration.conftest import FILES, Bench, bench_for, long_with
from tests.repos import ENVIRONMENT, git, make_repository, write_files

ROOT = Path(__file__).parents[3]
# Kills itself at the n-th git call: before it, after it, or together with a git that has begun.
CHILD = """
import json, os, signal, sys
from pathlib import Path
from batches.integration import capture, trees
from batches.integration.landing import land
from batches.integration.merging import prepare
from tasks.workspaces import commands, gitcall
from tasks.workspaces.git import open_store, publish
from tasks.workspaces.inspection import inspect

job = json.loads(sys.argv[1])
store = open_store(Path(job["store"]), inspect(Path(job["repository"])))
calls, run = 0, commands.run

def deadly(*arguments, **options):
    global calls
    calls += 1
    if calls == job["at"] and job["when"] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    done = run(*arguments, **options)
    if calls == job["at"] and job["when"] == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return done

commands.run = deadly
if job["do"] == "land":
    land(store, branch="main", commit=job["commit"], message="Land")
elif job["do"] == "capture":
    capture.capture(store, tree_dir=Path(job["tree"]), base=job["base"], run_id="r1", message="m")
elif job["do"] == "create":
    trees.create(store, tree_dir=Path(job["tree"]), base=job["base"], branch="codeframe/x")
"""


def die(bench: Bench, at: int, when: str, **job: object) -> bool:
    """Run the job in a process that dies at that call; False when it ended before."""
    job |= {"repository": str(bench.repository), "store": str(bench.store.dir)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps({**job, "at": at, "when": when})],
        cwd=ROOT,
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        timeout=60,
        capture_output=True,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


def new_bench(folder: Path) -> Bench:
    return bench_for(make_repository(folder / "repository", FILES), folder / "state")


@pytest.mark.faults
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_landing_killed_anywhere_is_completed_by_the_next(tmp_path: Path, when: str) -> None:
    at, died = 0, True
    while died:
        at += 1
        bench = new_bench(tmp_path / str(at))
        run = bench.run("r", {"a.txt": "new\n", "new/file": "n", "long.txt": long_with(3, "3\n")})
        tree = bench.tree("s", run.commit)
        (tree / "src/b.py").unlink()
        commit = bench.capture(tree, run.commit).commit
        died = die(bench, at, when, do="land", commit=commit)
        assert_nothing_is_lost(bench)
        assert landed(bench, commit).outcome == "landed", at
        assert git(bench.repository, "rev-parse", "main") == commit
        assert git(bench.repository, "status", "--porcelain") == ""
        assert not (bench.repository / ".git/index.lock").exists()
        assert not list((bench.repository / ".git").glob("codeframe*"))
        git(bench.repository, "fsck", "--strict")
    assert at > 8


def assert_nothing_is_lost(bench: Bench) -> None:
    """The branch is at one of its two ends, and every file is of one of the two commits."""
    assert git(bench.repository, "fsck", "--strict", "--no-dangling") == ""
    assert (bench.repository / "a.txt").read_text() in ("one\ntwo\nthree\n", "new\n")


def landed(bench: Bench, commit: str) -> Landing:
    return land(bench.store, branch="main", commit=commit, message="Land")


def half_moved(bench: Bench, commit: str) -> None:
    """As a git that was killed in the middle leaves it: some files new, the index old."""
    (bench.repository / "a.txt").write_text("new\n")
    write_files(bench.repository, {"new/file": "n"})


def files_moved(bench: Bench, commit: str) -> None:
    half_moved(bench, commit)
    (bench.repository / "src/b.py").unlink()
    (bench.repository / "long.txt").write_text(long_with(3, "3\n"))


def index_moved(bench: Bench, commit: str) -> None:
    files_moved(bench, commit)
    git(bench.repository, "read-tree", commit)


@pytest.mark.parametrize("leave", [half_moved, files_moved, index_moved])
@pytest.mark.parametrize("edited", [False, True])
def test_what_a_killed_git_left_is_taken_over_unless_the_user_went_on(
    tmp_path: Path, leave: Callable[[Bench, str], None], edited: bool
) -> None:
    bench = new_bench(tmp_path)
    tree = bench.tree("r")
    write_files(tree, {"a.txt": "new\n", "new/file": "n", "long.txt": long_with(3, "3\n")})
    (tree / "src/b.py").unlink()
    commit = bench.capture(tree).commit
    leave(bench, commit)
    if edited:
        write_files(bench.repository, {"a.txt": "mine\n"})
    result = landed(bench, commit)
    if edited:
        assert (result.outcome, result.files) == ("dirty", (b"a.txt",))
        assert (bench.repository / "a.txt").read_text() == "mine\n"
        assert git(bench.repository, "rev-parse", "main") == bench.base
    else:
        assert result.outcome == "landed"
        assert git(bench.repository, "status", "--porcelain") == ""
        assert git(bench.repository, "rev-parse", "main") == commit


@pytest.mark.faults
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_capture_killed_anywhere_is_made_again(tmp_path: Path, when: str) -> None:
    at, died = 0, True
    while died:
        at += 1
        bench = new_bench(tmp_path / str(at))
        tree = bench.tree("r1")
        write_files(tree, {"a.txt": "new\n", "b": "b"})
        git(tree, "commit", "-qam", "by the agent")
        died = die(bench, at, when, do="capture", tree=str(tree), base=bench.base)
        done = bench.capture(tree)
        assert {change.path for change in done.changes} == {b"a.txt", b"b"}
        assert done.complete
        assert set(list_refs(bench.store, "refs/codeframe/")) == {
            "refs/codeframe/runs/r1",
            "refs/codeframe/agent/r1/heads/codeframe/run-r1",
        }
        assert git(bench.repository, "status", "--porcelain") == ""
        git(bench.repository, "fsck", "--strict")
    assert at > 8


@pytest.mark.faults
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_tree_whose_making_was_killed_can_be_removed_and_made_again(
    tmp_path: Path, when: str
) -> None:
    at, died = 0, True
    while died:
        at += 1
        bench = new_bench(tmp_path / str(at))
        tree = bench.folder / "trees/r1"
        died = die(bench, at, when, do="create", tree=str(tree), base=bench.base)
        trees.remove(tree)
        assert not bench.capture(bench.tree("r1")).changed
        assert git(bench.repository, "status", "--porcelain") == ""
    assert at > 1


def git_in(folder: Path) -> int | None:
    """The process id of a git that works in the folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "comm").read_text().strip()
            if name == "git" and (process / "cwd").resolve() == folder:
                return int(process.name)
        except OSError:
            continue
    return None


@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="finds the git process in /proc")
def test_a_git_that_outlives_its_killed_parent_keeps_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = new_bench(tmp_path)
    commit = bench.run("r", {f"many/{number}": "x\n" * 50 for number in range(800)}).commit
    job = {"repository": str(bench.repository), "store": str(bench.store.dir), "do": "land"}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps({**job, "commit": commit, "at": 0, "when": ""})],
        cwd=ROOT,
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 100
    while (worker := git_in(bench.repository)) is None:
        assert time.monotonic() < deadline
        assert child.poll() is None
    os.kill(worker, signal.SIGSTOP)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    try:
        monkeypatch.setattr(checkouts, "LOCK_PATIENCE_S", 0.1)
        refused = landed(bench, commit)
        assert (refused.outcome, git(bench.repository, "rev-parse", "main")) == (
            "dirty",
            bench.base,
        )
        assert "index.lock" in refused.detail
    finally:
        os.kill(worker, signal.SIGCONT)
    while (result := landed(bench, commit)).outcome != "landed":
        assert "index.lock" in result.detail
        assert time.monotonic() < deadline
    assert git(bench.repository, "rev-parse", "main") == commit
    assert git(bench.repository, "status", "--porcelain") == ""
