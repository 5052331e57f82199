
from batches.integration.landing import land
from tests.batches.integration.conftest import Bench
from tests.repos import commit, git, write_files


def landed(bench: Bench, commit_: str, branch: str | None = "main"):
    return land(bench.store, branch=branch, commit=commit_, message="Land it")


def test_a_clean_checkout_is_moved_along_with_a_fast_forward(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "one\n2\nthree\n", "new/file": "n"})
    result = landed(bench, done.commit)
    assert (result.outcome, result.commit) == ("landed", done.commit)
    assert git(bench.repository, "status", "--porcelain") == ""
    assert git(bench.repository, "rev-parse", "HEAD", "main").split() == [done.commit] * 2
    assert (bench.repository / "new/file").read_text() == "n"
    assert git(bench.repository, "rev-parse", "ORIG_HEAD") == bench.base
    assert "codeframe: fast-forward" in git(bench.repository, "reflog", "HEAD")
    assert "codeframe: fast-forward" in git(bench.repository, "reflog", "main")
    assert not (bench.repository / ".git/index.lock").exists()


def test_a_branch_that_went_on_gets_a_merge_commit(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "one\n2\nthree\n"})
    other = commit(bench.repository, {"other": "x"})
    result = landed(bench, done.commit)
    assert result.outcome == "landed"
    assert git(bench.repository, "rev-parse", "HEAD^1", "HEAD^2").split() == [other, done.commit]
    assert git(bench.repository, "status", "--porcelain") == ""


def test_a_conflict_names_the_files_and_touches_nothing(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "one\n2\nthree\n"})
    other = commit(bench.repository, {"a.txt": "one\nzwei\nthree\n"})
    result = landed(bench, done.commit)
    assert (result.outcome, result.files) == ("conflict", (b"a.txt",))
    assert git(bench.repository, "rev-parse", "HEAD") == other
    assert git(bench.repository, "status", "--porcelain") == ""


def test_uncommitted_work_is_never_touched(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "one\n2\nthree\n"})
    write_files(bench.repository, {"src/b.py": "b = 'mine'\n"})
    result = landed(bench, done.commit)
    assert (result.outcome, result.files) == ("dirty", (b"src/b.py",))
    assert git(bench.repository, "rev-parse", "main") == bench.base
    assert (bench.repository / "src/b.py").read_text() == "b = 'mine'\n"
    assert (bench.repository / "a.txt").read_text() == "one\ntwo\nthree\n"
