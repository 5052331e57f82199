"""An agent that works in the user's own checkout: before and after are compared."""

import contextlib
from pathlib import Path

import pytest

from batches.integration.capture import Capture, Snapshot, capture_difference, snapshot
from tasks.workspaces.git import GitError, list_refs
from tests.batches.integration.conftest import Bench, MakeBench, bench_for
from tests.repos import commit, git, write_files


def difference(bench: Bench, before: Snapshot, run_id: str = "r1") -> Capture:
    after = snapshot(bench.store)
    return capture_difference(
        bench.store, before=before, after=after, run_id=run_id, message="Do it"
    )


def test_the_difference_of_two_snapshots_is_the_runs_change_alone(bench: Bench) -> None:
    write_files(bench.repository, {"a.txt": "the user's\n", "untracked": "the user's\n"})
    git(bench.repository, "add", "a.txt")
    before = snapshot(bench.store)
    write_files(bench.repository, {"new": "n\n", "untracked": "changed\n"})
    (bench.repository / "src/b.py").unlink()
    done = difference(bench, before)
    assert {(row.path, row.status) for row in done.changes} == {
        (b"new", "A"),
        (b"src/b.py", "D"),
        (b"untracked", "M"),
    }
    assert list_refs(bench.store, "refs/codeframe/") == {"refs/codeframe/runs/r1": done.commit}
    assert git(bench.repository, "show", f"{done.commit}:a.txt") == "the user's"


def test_index_head_and_files_stay_as_they_are(bench: Bench) -> None:
    write_files(bench.repository, {"a.txt": "staged\n"})
    git(bench.repository, "add", "a.txt")
    write_files(bench.repository, {"a.txt": "and more\n"})
    kept = [bench.repository / name for name in (".git/index", ".git/HEAD", "a.txt")]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in kept]
    snapshot(bench.store)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in kept] == before
    assert git(bench.repository, "status", "--porcelain") == "MM a.txt"


def test_nothing_done_is_no_change_and_no_ref(bench: Bench) -> None:
    write_files(bench.repository, {"a.txt": "dirty\n"})
    done = difference(bench, snapshot(bench.store))
    assert (done.changed, done.ref) == (False, None)
    assert list_refs(bench.store, "refs/codeframe/") == {}


def test_a_checkout_in_the_middle_of_a_merge_can_be_told(bench: Bench) -> None:
    path = bench.repository
    git(path, "checkout", "-q", "-b", "other")
    commit(path, {"a.txt": "other\n"})
    git(path, "checkout", "-q", "main")
    commit(path, {"a.txt": "main\n"})
    with contextlib.suppress(AssertionError):
        git(path, "merge", "other")
    before = snapshot(bench.store)
    write_files(path, {"a.txt": "resolved\n"})
    assert [(row.path, row.status) for row in difference(bench, before).changes] == [
        (b"a.txt", "M")
    ]
    assert git(path, "ls-files", "--unmerged") != ""


def test_a_split_index_is_no_obstacle(bench: Bench) -> None:
    git(bench.repository, "update-index", "--split-index")
    before = snapshot(bench.store)
    write_files(bench.repository, {"a.txt": "new\n"})
    assert [row.path for row in difference(bench, before).changes] == [b"a.txt"]


def test_a_change_hidden_by_assume_unchanged_is_seen(bench: Bench) -> None:
    before = snapshot(bench.store)
    git(bench.repository, "update-index", "--assume-unchanged", "a.txt")
    write_files(bench.repository, {"a.txt": "new\n"})
    assert [row.path for row in difference(bench, before).changes] == [b"a.txt"]


def test_what_the_user_excludes_is_not_copied(make_bench: MakeBench) -> None:
    bench = make_bench({".gitignore": "*.log\n"})
    (bench.repository / ".git/info").mkdir(exist_ok=True)
    (bench.repository / ".git/info/exclude").write_text("data/\n")
    before = snapshot(bench.store)
    write_files(bench.repository, {"x.log": "x", "data/x": "x"})
    assert not difference(bench, before).changed


def test_a_bare_repository_has_nothing_to_copy(bench: Bench, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(bench.repository), "bare.git")
    with pytest.raises(GitError, match="bare repository has no working tree"):
        snapshot(bench_for(tmp_path / "bare.git", tmp_path / "bare-state").store)
