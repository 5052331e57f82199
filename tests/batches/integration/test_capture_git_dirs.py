"""Whatever an agent does to its tree's git directory, and to our index of it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from batches.integration import capture as capturing
from batches.integration import trees
from tests.batches.integration.conftest import Bench
from tests.repos import git, write_files


def paths(done: capturing.Capture) -> dict[bytes, str]:
    return {change.path: change.status for change in done.changes}


def hide_in_index(tree: Path) -> None:
    git(tree, "update-index", "--assume-unchanged", "a.txt")
    git(tree, "update-index", "--skip-worktree", "src/b.py")


def exclude_all(tree: Path) -> None:
    (tree / ".git/info/exclude").write_text("*\n")
    with (tree / ".git/config").open("a") as file:
        file.write("[core]\n\texcludesFile = /dev/stdin\n\tignoreCase = true\n\tfileMode = false\n")


def move_work_tree(tree: Path) -> None:
    git(tree, "config", "core.worktree", "/tmp")
    git(tree, "config", "core.bare", "true")


def break_git_dir(tree: Path) -> None:
    (tree / ".git/HEAD").write_bytes(b"\0garbage")
    (tree / ".git/index").write_bytes(b"garbage")
    (tree / ".git/config").write_bytes(b"[garbage")
    (tree / ".git/objects/info/alternates").write_text("/nowhere\n")


def delete_git_dir(tree: Path) -> None:
    shutil.rmtree(tree / ".git")


def link_git_dir(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    (tree / ".git").symlink_to("/")


def make_git_dir_a_pipe(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    os.mkfifo(tree / ".git")


def fill_refs_with_pipes(tree: Path) -> None:
    os.mkfifo(tree / ".git/refs/heads/pipe")
    os.mkfifo(tree / ".git/packed-refs")
    (tree / ".git/refs/heads/loop").symlink_to(".")
    (tree / ".git/refs/heads/garbage").write_bytes(b"\xff" * 10_000)


def lose_our_index(tree: Path) -> None:
    trees.private_index(tree).unlink()


def break_our_index(tree: Path) -> None:
    trees.private_index(tree).write_bytes(b"DIRC\0\0\0\2garbage")


@pytest.mark.parametrize(
    "spoil",
    [
        hide_in_index,
        exclude_all,
        move_work_tree,
        break_git_dir,
        delete_git_dir,
        link_git_dir,
        make_git_dir_a_pipe,
        fill_refs_with_pipes,
        lose_our_index,
        break_our_index,
    ],
)
def test_whatever_happens_to_its_git_directory_no_work_is_lost(
    bench: Bench, spoil: Callable[[Path], None]
) -> None:
    tree = bench.tree("r1")
    spoil(tree)
    write_files(tree, {"a.txt": "new\n", "src/b.py": "new\n", "new": "new\n"})
    done = bench.capture(tree)
    assert paths(done) == {b"a.txt": "M", b"src/b.py": "M", b"new": "A"}
    assert done.uncaptured == ()
