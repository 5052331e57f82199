import os
import threading
from pathlib import Path

import pytest

from batches.integration import trees
from tasks.workspaces.git import Corrupt, GitError, open_store
from tasks.workspaces.inspection import inspect
from tests.batches.integration.conftest import Bench, MakeBench, bench_for
from tests.repos import Content, commit, git, make_repository, write_files


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def test_a_tree_holds_the_base_on_a_branch_of_its_own(bench: Bench) -> None:
    tree = bench.tree("r1")
    assert files_of(tree) == files_of(bench.repository)
    assert git(tree, "status", "--porcelain", "--branch") == "## codeframe/run-r1"
    assert git(tree, "rev-parse", "HEAD") == bench.base
    assert git(tree, "remote") == ""
    git(tree, "fsck", "--strict")


def test_an_agent_can_commit_without_touching_the_repository(bench: Bench) -> None:
    tree = bench.tree("r1")
    before = git(bench.repository, "for-each-ref"), git(bench.repository, "count-objects")
    write_files(tree, {"a.txt": "changed\n"})
    git(tree, "commit", "-qam", "by the agent", "--author=A <a@b>")
    git(tree, "gc", "-q", "--prune=now")
    assert (git(bench.repository, "for-each-ref"), git(bench.repository, "count-objects")) == before
    assert git(bench.repository, "status", "--porcelain") == ""


def test_eight_trees_start_at_once_while_the_configuration_is_locked(bench: Bench) -> None:
    (bench.repository / ".git/config.lock").touch()
    (bench.repository / ".git/index.lock").touch()
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def make(number: int) -> None:
        try:
            start.wait()
            assert files_of(bench.tree(f"r{number}")) == files_of(bench.repository)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_failed_creation_leaves_nothing_behind(bench: Bench) -> None:
    with pytest.raises(Corrupt):
        bench.tree("r1", base="1" * 40)
    assert list((bench.folder / "trees").iterdir()) == []
    assert bench.tree("r1").is_dir()


def test_a_folder_that_is_already_there_is_never_reused(bench: Bench) -> None:
    bench.tree("r1")
    with pytest.raises(GitError, match="trees/r1: File exists"):
        bench.tree("r1")
    assert (bench.folder / "trees/r1/a.txt").exists()


def test_a_leftover_branch_of_a_crashed_run_does_not_block_the_next(bench: Bench) -> None:
    trees.remove(bench.tree("r1"))
    bench.tree("r1")
    assert git(bench.repository, "branch", "--list", "codeframe/*") == ""


def test_bytes_are_checked_out_as_they_are_stored(make_bench: MakeBench) -> None:
    files: dict[str, Content] = {
        ".gitattributes": "*.txt text eol=crlf\n*.u working-tree-encoding=UTF-16 text\n$i ident\n",
        "lf.txt": "a\nb\n",
        "x.u": "plain\n",
        "bytes": b"\xe9\0\r\n\r",
    }
    bench = make_bench({"a": "a"})
    tree = bench.tree("r1", bench.run("seed", files).commit)
    assert (tree / "lf.txt").read_bytes() == b"a\nb\n"
    assert (tree / "x.u").read_bytes() == b"plain\n"
    assert (tree / "bytes").read_bytes() == b"\xe9\0\r\n\r"
    assert git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_every_kind_of_repository_gives_trees(tmp_path: Path, object_format: str) -> None:
    origin = make_repository(tmp_path / "o", {"a": "1"}, object_format=object_format)
    commit(origin, {"a": "2"})
    git(tmp_path, "clone", "-q", "--bare", str(origin), "bare.git")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin}", "shallow")
    git(origin, "worktree", "add", "-q", str(tmp_path / 'li"n\\k'), "-b", "side")
    for number, name in enumerate(["o", "bare.git", "shallow", 'li"n\\k']):
        bench = bench_for(tmp_path / name, tmp_path / f"state{number}")
        tree = bench.tree("r")
        assert (tree / "a").read_text() == "2"
        write_files(tree, {"b": "new"})
        git(tree, "add", "b")
        git(tree, "commit", "-qm", "c")
        git(tree, "fsck", "--strict")
        assert bench.capture(tree).changed


def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" \\ : ü #;'
    bench = bench_for(make_repository(odd / "r", {"a": "1"}), odd / "state")
    tree = bench.tree("r")
    write_files(tree, {"b": "new"})
    git(tree, "add", "b")
    git(tree, "commit", "-qm", "c")
    git(tree, "fsck", "--strict")
    done = bench.capture(tree)
    assert done.changed
    assert list(done.agent_refs) == ["refs/codeframe/agent/r/heads/codeframe/run-r"]


def test_the_users_private_excludes_hold_in_a_tree(bench: Bench) -> None:
    (bench.repository / ".git/info").mkdir(exist_ok=True)
    (bench.repository / ".git/info/exclude").write_text("*.local\n")
    tree = bench.tree("r1")
    write_files(tree, {"x.local": "x", "y": "y"})
    assert git(tree, "status", "--porcelain") == "?? y"
    assert [change.path for change in bench.capture(tree).changes] == [b"y"]


def test_removal_follows_no_link_and_minds_no_permission(bench: Bench) -> None:
    outside = bench.folder / "outside"
    write_files(outside, {"keep": "kept", "sub/keep": "kept"})
    tree = bench.tree("r1")
    (tree / "link").symlink_to(outside)
    (tree / "src/link").symlink_to(outside / "sub")
    (tree / "file-link").symlink_to(outside / "keep")
    os.mkfifo(tree / "pipe")
    for name, mode in (("locked/deep", 0o000), ("locked", 0o500), ("src", 0o555)):
        (tree / name).mkdir(parents=True, exist_ok=True)
        (tree / name).chmod(mode)
    trees.remove(tree)
    assert not tree.exists()
    assert not trees.private_index(tree).exists()
    assert files_of(outside) == {"keep": b"kept", "sub/keep": b"kept"}
    assert (outside / "sub").stat().st_mode & 0o777 == 0o755


def test_removal_of_a_link_or_of_nothing_is_fine(bench: Bench) -> None:
    outside = bench.folder / "outside"
    write_files(outside, {"keep": "kept"})
    link = bench.folder / "link"
    link.symlink_to(outside)
    trees.remove(link)
    trees.remove(bench.folder / "never-made")
    assert not link.is_symlink()
    assert (outside / "keep").exists()


def test_removal_is_not_stopped_by_endless_nesting(bench: Bench) -> None:
    tree = bench.tree("r1")
    here = os.open(tree, os.O_RDONLY)
    for _ in range(2500):  # longer than any path that the system takes
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert not bench.capture(tree).changed
    trees.remove(tree)
    assert not tree.exists()


def test_deleting_our_folders_leaves_the_repository_and_its_worktrees_whole(
    bench: Bench, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git(bench.repository, "worktree", "add", "-q", str(linked), "-b", "side")
    first = bench.run("r1", {"a.txt": "changed\n"})
    bench.tree("r2")
    trees.remove(bench.folder / "trees/r1")
    trees.remove(bench.folder)
    assert not bench.folder.exists()
    git(bench.repository, "gc", "-q", "--prune=now")
    git(bench.repository, "fsck", "--strict", "--full")
    assert git(bench.repository, "show", f"{first.ref}:a.txt") == "changed"
    commit(linked, {"b": "b"})
    again = open_store(tmp_path / "again", inspect(bench.repository))
    assert again.repository.commit == bench.base
