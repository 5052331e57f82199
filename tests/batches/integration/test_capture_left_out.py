"""What a capture cannot hold, and how that is told."""

import os
import shutil
import socket
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.integration import capture as capturing
from batches.integration import trees
from batches.integration.staging import NESTED, RESERVED, UNREADABLE
from tasks.workspaces.git import RepositoryGone, list_refs
from tests.batches.integration.conftest import FILES, Bench, MakeBench, bench_for
from tests.repos import git, make_repository, write_files


def paths(done: capturing.Capture) -> dict[bytes, str]:
    return {change.path: change.status for change in done.changes}


def test_ignored_files_are_left_out_as_the_base_says(make_bench: MakeBench) -> None:
    bench = make_bench({".gitignore": "*.log\nbuild/\n", "keep.log": "tracked though ignored"})
    files = {"x.log": "x", "build/out": "o", "keep.log": "changed", "y": "y"}
    tree = bench.tree("r1")
    write_files(tree, {**files, ".venv/.gitignore": "*\n", ".venv/lib/x": "x"})
    done = bench.capture(tree)
    assert paths(done) == {b"keep.log": "M", b"y": "A"}
    assert done.complete


@pytest.mark.parametrize("rule", ["*\n", "*.py\n"])
def test_work_hidden_by_an_ignore_rule_of_the_run_itself_is_reported(
    bench: Bench, rule: str
) -> None:
    done = bench.run("r1", {"src/.gitignore": rule, "src/new.py": "work"})
    assert b"src/new.py" in done.hidden
    assert not done.complete


def test_repositories_inside_the_tree_are_reported(bench: Bench) -> None:
    tree = bench.tree("r1")
    make_repository(tree / "with-commit", {"x": "x"})
    make_repository(tree / "deep/without")
    write_files(tree, {"deep/without/x": "x", "a.txt": "new\n"})
    done = bench.capture(tree)
    assert {(row.path, row.reason) for row in done.uncaptured} == {
        (b"with-commit/", NESTED),
        (b"deep/without/", NESTED),
    }
    assert paths(done) == {b"a.txt": "M", b"with-commit": "A"}
    assert {row.path: row.new_mode for row in done.changes}[b"with-commit"] == "160000"
    assert not done.complete


def test_work_inside_a_submodule_is_reported(bench: Bench) -> None:
    index = bench.repository
    git(index, "update-index", "--add", "--cacheinfo", f"160000,{bench.base},module")
    git(index, "commit", "-qm", "module")
    base = git(index, "rev-parse", "HEAD")
    tree = bench.tree("r1", base)
    assert bench.capture(tree, base).complete
    write_files(tree, {"module/x": "work"})
    done = bench.capture(tree, base)
    assert [(row.path, row.reason) for row in done.uncaptured] == [(b"module", NESTED)]


def test_names_that_git_reserves_are_reported(bench: Bench) -> None:
    done = bench.run("r1", {"src/.GIT/config": "x", "git~1": "x", "ok": "x"})
    assert {(row.path, row.reason) for row in done.uncaptured} == {
        (b"src/.GIT/config", RESERVED),
        (b"git~1", RESERVED),
    }
    assert paths(done) == {b"ok": "A"}


def test_a_tracked_file_that_became_something_special_is_reported(bench: Bench) -> None:
    tree = bench.tree("r1")
    (tree / "a.txt").unlink()
    os.mkfifo(tree / "a.txt")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tree)  # the path of a socket may be only 108 bytes long
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    write_files(tree, {"ok": "x"})
    done = bench.capture(tree)
    assert [row.path for row in done.uncaptured] == [b"a.txt"]
    assert paths(done) == {b"ok": "A"}


def as_nobody(act: Callable[[], None]) -> None:
    """In a process without the right of root to read everything."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_missing_permissions_hide_no_work() -> None:
    def act() -> None:
        bench = bench_for(make_repository(folder / "r", FILES), folder / "state")
        tree = bench.tree("r1")
        write_files(tree, {"secret": "s", "locked/deep/x": "x", "a.txt": "new\n"})
        for name in ("secret", "locked/deep", "locked", "src"):
            (tree / name).chmod(0)
        done = bench.capture(tree)
        assert paths(done) == {b"a.txt": "M", b"secret": "A", b"locked/deep/x": "A"}
        assert done.complete
        (tree / "locked").chmod(0)
        trees.remove(tree)
        assert not tree.exists()

    with tempfile.TemporaryDirectory(prefix="codeframe-test-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        Path(name).chmod(0o755)
        folder.chmod(0o777)
        as_nobody(act)


def test_a_second_capture_adds_to_the_first_and_loses_neither(bench: Bench) -> None:
    tree = bench.tree("r1")
    write_files(tree, {"a.txt": "first\n"})
    first = bench.capture(tree)
    assert bench.capture(tree).commit == first.commit
    write_files(tree, {"a.txt": "second\n"})
    second = bench.capture(tree)
    assert list_refs(bench.store, "refs/codeframe/") == {
        f"refs/codeframe/replaced/r1/{first.commit}": first.commit,
        "refs/codeframe/runs/r1": second.commit,
    }


def test_a_tree_that_is_gone_or_became_a_link_is_a_clear_error(bench: Bench) -> None:
    tree = bench.tree("r1")
    shutil.rmtree(tree)
    with pytest.raises(RepositoryGone, match=f"^{tree}: the tree is gone"):
        bench.capture(tree)
    tree.symlink_to("/etc")
    with pytest.raises(RepositoryGone):
        bench.capture(tree)


def test_no_temporary_file_is_left(bench: Bench) -> None:
    bench.run("r1", {"a.txt": "new\n"})
    capturing.snapshot(bench.store)
    assert list(bench.store.scratch.iterdir()) == []


def test_unreadable_is_told_when_nothing_helps(bench: Bench) -> None:
    tree = bench.tree("r1")
    here = os.open(tree, os.O_RDONLY)
    for _ in range(60):  # deeper than any path may be long, with work at the end
        os.mkdir("d" * 200, dir_fd=here)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("work", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    write_files(tree, {"a.txt": "new\n"})
    done = bench.capture(tree)
    assert paths(done) == {b"a.txt": "M"}
    assert len(done.uncaptured) == 1
    assert done.uncaptured[0].reason.startswith(UNREADABLE)
