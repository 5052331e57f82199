import shutil
from pathlib import Path

import pytest

from tasks.workspaces.git import (
    GitError,
    NoCommits,
    NotARepository,
    UnsupportedRepository,
    log,
    open_store,
)
from tasks.workspaces.inspection import inspect
from tests.repos import commit, git, make_repository

FILES = {"a": "a\n"}


def head(path: Path) -> str:
    return git(path, "rev-parse", "HEAD")


def test_an_ordinary_repository_is_described(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "a b", FILES, branch="feature/x")
    found = inspect(path)
    assert (found.path, found.git_dir, found.common_dir) == (path, path / ".git", path / ".git")
    assert (found.branch, found.commit, found.object_format) == ("feature/x", head(path), "sha1")
    assert (found.is_bare, found.shallow) == (False, False)


def test_a_link_to_a_repository_is_resolved(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)
    (tmp_path / "link").symlink_to(path)
    assert inspect(tmp_path / "link").path == path


def test_a_repository_of_sha256_objects_is_understood(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES, object_format="sha256")
    found = inspect(path)
    assert (found.object_format, found.commit) == ("sha256", head(path))


def test_a_detached_head_has_a_commit_but_no_branch(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)
    git(path, "checkout", "-q", "--detach")
    found = inspect(path)
    assert (found.branch, found.commit) == (None, head(path))


def test_a_bare_repository_and_a_linked_worktree_are_understood(tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", FILES)
    git(tmp_path, "clone", "-q", "--bare", str(origin), "bare.git")
    bare = inspect(tmp_path / "bare.git")
    assert (bare.is_bare, bare.branch) == (True, "main")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    linked = inspect(tmp_path / "linked")
    assert (linked.is_bare, linked.branch) == (False, "side")
    assert linked.common_dir == tmp_path / "bare.git"
    assert linked.main_is_bare


def test_a_git_directory_kept_elsewhere_is_followed(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)
    git(path, "init", "-q", f"--separate-git-dir={tmp_path / 'elsewhere.git'}")
    assert inspect(path).git_dir == tmp_path / "elsewhere.git"


def test_a_shallow_clone_is_understood(tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", FILES)
    commit(origin, {"a": "b\n"})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin}", "shallow")
    found = inspect(tmp_path / "shallow")
    assert found.shallow
    store = open_store(tmp_path / "state", found)
    assert [row.parents for row in log(store, "main")] == [()]


def test_a_repository_without_a_commit_is_refused_clearly(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r")
    with pytest.raises(NoCommits, match=rf"^{path}: there is no commit"):
        inspect(path)


def test_a_partial_clone_is_refused(tmp_path: Path) -> None:
    origin = make_repository(tmp_path / "origin", FILES)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", "partial")
    with pytest.raises(UnsupportedRepository, match="partial clone"):
        inspect(tmp_path / "partial")


def test_what_is_no_repository_is_refused_by_name(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", {"sub/a": "a"})
    (tmp_path / "plain").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/.git").write_text("gitdir: /nowhere\n")
    refusals = {
        tmp_path / "missing": "does not exist",
        tmp_path / "plain": "not a git repository",
        tmp_path / "broken": "points to /nowhere",
        path / "sub": f"inside the repository {path}",
        path / "sub/a": "not a folder",
        path / ".git": "inside of a repository",
    }
    for where, sentence in refusals.items():
        with pytest.raises(NotARepository, match=sentence):
            inspect(where)


def test_a_work_tree_that_the_configuration_puts_elsewhere_is_refused(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)
    git(path, "config", "core.worktree", str(tmp_path))
    with pytest.raises(UnsupportedRepository, match="work tree elsewhere"):
        inspect(path)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)
    git(path, "config", "core.repositoryFormatVersion", "1")
    git(path, "config", "extensions.novelty", "yes")
    with pytest.raises(UnsupportedRepository, match="novelty"):
        inspect(path)


@pytest.mark.parametrize("content", ["[core\n", "[include]\n\tpath = /dev/zero\n[core]\nx = \\q\n"])
def test_a_broken_configuration_is_a_clear_error(tmp_path: Path, content: str) -> None:
    path = make_repository(tmp_path / "r", FILES)
    (path / ".git/config").write_text(content)
    with pytest.raises(GitError, match="config"):
        inspect(path)


def test_a_damaged_repository_is_refused(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)
    shutil.rmtree(path / ".git/objects")
    (path / ".git/objects").mkdir()
    with pytest.raises(GitError, match=str(path)):
        inspect(path)


def test_inspection_writes_nothing_into_the_repository(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "r", FILES)

    def state() -> dict[str, tuple[int, int]]:
        stats = {str(item): item.lstat() for item in path.rglob("*")}
        return {name: (stat.st_mtime_ns, stat.st_size) for name, stat in stats.items()}

    before = state()
    inspect(path)
    assert state() == before
