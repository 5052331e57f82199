import contextlib
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.integration import checkouts, landing
from batches.integration.landing import Landing, land
from tasks.workspaces import git as gitting
from tasks.workspaces.git import RefMoved, Store
from tests.batches.integration.conftest import FILES, Bench, MakeBench, bench_for, long_with
from tests.repos import commit, git, make_repository, write_files


def landed(bench: Bench, commit_: str, branch: str | None = "main") -> Landing:
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


def test_untracked_files_are_only_in_the_way_when_they_are(bench: Bench) -> None:
    done = bench.run("r", {"new": "theirs\n"})
    write_files(bench.repository, {"scratch": "mine\n", "new": "mine\n"})
    result = landed(bench, done.commit)
    assert (result.outcome, result.files) == ("dirty", (b"new",))
    assert (bench.repository / "new").read_text() == "mine\n"
    (bench.repository / "new").unlink()
    assert landed(bench, done.commit).outcome == "landed"
    assert git(bench.repository, "status", "--porcelain") == "?? scratch"


def test_an_ignored_file_in_the_way_is_not_overwritten(make_bench: MakeBench) -> None:
    bench = make_bench({".gitignore": "*.log\n"})
    done = bench.run("r", {".gitignore": "", "x.log": "theirs\n"})
    write_files(bench.repository, {"x.log": "mine\n"})
    assert landed(bench, done.commit).outcome == "dirty"
    assert (bench.repository / "x.log").read_text() == "mine\n"


def test_a_file_where_a_folder_must_be_stays(bench: Bench) -> None:
    done = bench.run("r", {"pack/age": "theirs\n"})
    write_files(bench.repository, {"pack": "mine\n"})
    assert landed(bench, done.commit).outcome == "dirty"
    assert (bench.repository / "pack").read_text() == "mine\n"
    assert not (bench.repository / ".git/index.lock").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: write_files(path, {"a.txt": "mine\n"}),
        lambda path: (path / "a.txt").unlink(),
        lambda path: (path / "a.txt").chmod(0o755),
        lambda path: git(path, "rm", "-q", "--cached", "a.txt"),
        lambda path: stage_only(path),
        lambda path: hide_with_assume_unchanged(path),
    ],
)
def test_every_kind_of_uncommitted_work_is_seen(
    bench: Bench, spoil: Callable[[Path], object]
) -> None:
    done = bench.run("r", {"long.txt": "new\n"})
    spoil(bench.repository)
    before = everything(bench.repository)
    result = landed(bench, done.commit)
    assert (result.outcome, result.files) == ("dirty", (b"a.txt",))
    assert everything(bench.repository) == before


def stage_only(path: Path) -> None:
    write_files(path, {"a.txt": "mine\n"})
    git(path, "add", "a.txt")
    write_files(path, {"a.txt": "one\ntwo\nthree\n"})


def hide_with_assume_unchanged(path: Path) -> None:
    git(path, "update-index", "--assume-unchanged", "a.txt")
    write_files(path, {"a.txt": "mine\n"})


def everything(path: Path) -> dict[str, tuple[int, bytes]]:
    """Names, modes and bytes of the checkout, its index, HEAD and refs."""
    git_dir = Path(git(path, "rev-parse", "--absolute-git-dir"))
    kept = [git_dir / "index", git_dir / "HEAD", *(git_dir / "refs/heads").rglob("*")]
    files = [item for item in path.rglob("*") if ".git" not in item.parts]
    return {
        str(item): (item.lstat().st_mode, item.read_bytes())
        for item in [*kept, *files]
        if item.is_file()
    }


def test_a_touched_but_equal_file_is_not_dirt(bench: Bench) -> None:
    done = bench.run("r", {"long.txt": "new\n"})
    (bench.repository / "a.txt").write_text("one\ntwo\nthree\n")
    assert landed(bench, done.commit).outcome == "landed"
    assert git(bench.repository, "status", "--porcelain") == ""


@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry-pick", "revert", "bisect"])
def test_an_operation_that_waits_for_the_user_is_left_alone(bench: Bench, operation: str) -> None:
    path = bench.repository
    done = bench.run("r", {"src/b.py": "new\n"})
    git(path, "checkout", "-q", "-b", "other")
    other = commit(path, {"a.txt": "other\n"})
    git(path, "checkout", "-q", "main")
    commit(path, {"a.txt": "main\n"})
    commit(path, {"a.txt": "main again\n"})
    arguments = {
        "merge": ["merge", "other"],
        "rebase": ["rebase", "other"],
        "cherry-pick": ["cherry-pick", other],
        "revert": ["revert", "--no-edit", "HEAD~1"],
        "bisect": ["bisect", "start", "HEAD", "HEAD~2"],
    }[operation]
    with contextlib.suppress(AssertionError):
        git(path, *arguments)
    before = everything(path)
    result = landed(bench, done.commit)
    assert result.outcome == "dirty"
    assert operation in result.detail
    assert everything(path) == before


def test_files_that_a_filter_writes_are_left_to_the_users_own_git(make_bench: MakeBench) -> None:
    bench = make_bench({".gitattributes": "*.big filter=lfs -text\n", "x.big": "pointer\n"})
    fine = bench.run("fine", {"y": "y"})
    assert landed(bench, fine.commit).outcome == "landed"
    big = bench.run("big", {"new.big": "pointer 2\n"}, fine.commit)
    before = everything(bench.repository)
    result = landed(bench, big.commit)
    assert (result.outcome, result.files) == ("filtered", (b"new.big",))
    assert everything(bench.repository) == before


def test_a_filter_that_the_change_itself_brings_counts(bench: Bench) -> None:
    done = bench.run("r", {".gitattributes": "*.big filter=lfs\n", "new.big": "x"})
    assert landed(bench, done.commit).files == (b"new.big",)


def test_the_line_ends_that_the_repository_asks_for_are_written(make_bench: MakeBench) -> None:
    bench = make_bench({".gitattributes": "*.bat text eol=crlf\n", "x": "x"})
    done = bench.run("r", {"run.bat": "a\nb\n"})
    assert landed(bench, done.commit).outcome == "landed"
    assert (bench.repository / "run.bat").read_bytes() == b"a\r\nb\r\n"
    assert git(bench.repository, "status", "--porcelain") == ""


def test_a_sparse_checkout_is_left_alone(make_bench: MakeBench) -> None:
    bench = make_bench({"a.txt": "a", "src/b": "b", "docs/c": "c"})
    done = bench.run("r", {"a.txt": "new\n"})
    git(bench.repository, "sparse-checkout", "set", "src")
    result = landed(bench, done.commit)
    assert (result.outcome, git(bench.repository, "rev-parse", "main")) == ("dirty", bench.base)
    assert "sparse" in result.detail


def test_a_branch_that_nobody_has_checked_out_just_moves(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "new\n"})
    git(bench.repository, "checkout", "-q", "-b", "elsewhere")
    write_files(bench.repository, {"a.txt": "dirty\n"})
    assert landed(bench, done.commit).commit == done.commit
    assert git(bench.repository, "rev-parse", "main") == done.commit
    assert (bench.repository / "a.txt").read_text() == "dirty\n"


def test_a_bare_repository_lands_and_moves_its_linked_worktree(
    bench: Bench, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(bench.repository), "bare.git")
    bare = bench_for(tmp_path / "bare.git", tmp_path / "bare-state")
    first = bare.run("r1", {"a.txt": "new\n"})
    assert landed(bare, first.commit).landed
    linked = tmp_path / "linked"
    git(bare.repository, "worktree", "add", "-q", str(linked), "main")
    second = bare.run("r2", {"a.txt": "newer\n"}, first.commit)
    assert landed(bare, second.commit).landed
    assert (linked / "a.txt").read_text() == "newer\n"
    assert git(linked, "status", "--porcelain") == ""
    assert "codeframe" in git(linked, "reflog", "HEAD")


def test_a_linked_worktree_as_workspace_moves_the_main_checkout_when_it_holds_the_branch(
    bench: Bench, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git(bench.repository, "worktree", "add", "-q", str(linked), "-b", "side")
    workspace = bench_for(linked, tmp_path / "linked-state")
    done = workspace.run("r", {"a.txt": "new\n"})
    for branch, path in (("side", linked), ("main", bench.repository)):
        assert landed(workspace, done.commit, branch).landed
        assert (path / "a.txt").read_text() == "new\n"
        assert git(path, "status", "--porcelain") == ""


def test_a_dirty_linked_worktree_counts_as_dirty(bench: Bench, tmp_path: Path) -> None:
    git(bench.repository, "checkout", "-q", "-b", "elsewhere")
    linked = tmp_path / "linked"
    git(bench.repository, "worktree", "add", "-q", str(linked), "main")
    done = bench.run("r", {"a.txt": "new\n"})
    write_files(linked, {"a.txt": "mine\n"})
    assert landed(bench, done.commit).outcome == "dirty"
    shutil.rmtree(linked)
    assert landed(bench, done.commit).outcome == "landed"


def test_a_worktree_entry_that_points_at_a_stranger_moves_nothing_there(
    bench: Bench, tmp_path: Path
) -> None:
    other = make_repository(tmp_path / "other", {"a.txt": "one\ntwo\nthree\n", **FILES})
    stranger = tmp_path / "stranger"
    git(other, "worktree", "add", "-q", str(stranger), "-b", "side")
    git(bench.repository, "checkout", "-q", "-b", "elsewhere")
    entry = bench.repository / ".git/worktrees/x"
    entry.mkdir(parents=True)
    (entry / "gitdir").write_text(f"{stranger}/.git\n")
    (entry / "HEAD").write_text("ref: refs/heads/main\n")
    (entry / "commondir").write_text("../..\n")
    before = everything(stranger)
    assert landed(bench, bench.run("r", {"a.txt": "new\n"}).commit).outcome == "landed"
    assert everything(stranger) == before


def test_no_branch_or_a_deleted_branch_leaves_the_work_on_its_own_branch(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "new\n"})
    assert landed(bench, done.commit, None).outcome == "branch_only"
    assert landed(bench, done.commit, "gone").outcome == "branch_only"


def test_landing_twice_is_landing_once(bench: Bench) -> None:
    done = bench.run("r", {"a.txt": "new\n"})
    commit(bench.repository, {"other": "x"})
    first = landed(bench, done.commit)
    again = landed(bench, done.commit)
    assert (again.outcome, again.commit) == ("landed", first.commit)


def test_a_lock_of_the_users_git_is_respected(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkouts, "LOCK_PATIENCE_S", 0.2)
    done = bench.run("r", {"a.txt": "new\n"})
    lock = bench.repository / ".git/index.lock"
    lock.write_bytes(b"")
    before = everything(bench.repository)
    result = landed(bench, done.commit)
    assert (result.outcome, everything(bench.repository)) == ("dirty", before)
    assert "index.lock" in result.detail
    assert lock.exists()
    lock.unlink()
    assert landed(bench, done.commit).outcome == "landed"


def test_two_landings_at_once_both_arrive(bench: Bench) -> None:
    runs = [bench.run(f"r{n}", {"long.txt": long_with(n * 10, f"{n}\n")}) for n in range(3)]
    results: list[Landing] = []
    threads = [
        threading.Thread(target=lambda run=run: results.append(landed(bench, run.commit)))
        for run in runs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.outcome for result in results] == ["landed"] * 3
    text = (bench.repository / "long.txt").read_text().splitlines()
    assert [text[0], text[10], text[20]] == ["0", "1", "2"]
    assert git(bench.repository, "status", "--porcelain") == ""
    git(bench.repository, "fsck", "--strict")


def test_a_branch_that_moves_under_our_hands_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bench.run("r", {"a.txt": "new\n"})
    git(bench.repository, "branch", "other")
    moves = 0

    def publish_late(store: Store, **arguments: str) -> None:
        nonlocal moves
        if moves < 2:
            moves += 1
            tree = git(bench.repository, "rev-parse", "main^{tree}")
            moved = git(bench.repository, "commit-tree", "-p", "main", "-m", "late", tree)
            git(bench.repository, "update-ref", "refs/heads/main", moved)
        gitting.publish(store, **arguments)

    monkeypatch.setattr(landing, "publish", publish_late)
    result = landed(bench, done.commit)
    assert (result.outcome, moves) == ("landed", 2)
    assert git(bench.repository, "status", "--porcelain") == ""
    assert git(bench.repository, "rev-list", "--count", "main") == "5"


def test_a_branch_that_never_rests_is_given_up_with_everything_as_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bench.run("r", {"a.txt": "new\n"})

    def never(store: Store, **arguments: str) -> None:
        raise RefMoved("moved")

    monkeypatch.setattr(landing, "publish", never)
    assert landed(bench, done.commit).outcome == "moved"
    assert git(bench.repository, "rev-parse", "main") == bench.base
    assert git(bench.repository, "status", "--porcelain") == ""
    assert not (bench.repository / ".git/index.lock").exists()
