import shutil
import threading
import time
from pathlib import Path

import pytest

from tasks.workspaces import gitcall
from tasks.workspaces.git import (
    Locked,
    RefMoved,
    RefUpdate,
    RepositoryGone,
    Store,
    is_ancestor,
    list_refs,
    log,
    open_store,
    publish,
    resolve,
    update_refs,
)
from tasks.workspaces.inspection import inspect
from tests.repos import commit, git, make_repository

REF = "refs/codeframe/runs/1"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", {"a": "a\n"})


@pytest.fixture
def store(repository: Path, tmp_path: Path) -> Store:
    return open_store(tmp_path / "state" / "store", inspect(repository))


def test_names_are_resolved_as_the_user_means_them(repository: Path, store: Store) -> None:
    first = store.repository.commit
    git(repository, "tag", "-a", "-m", "t", "v1")
    git(repository, "checkout", "-q", "-b", "side")
    second = commit(repository, {"a": "b\n"})
    assert resolve(store, "main") == resolve(store, "v1") == resolve(store, first[:10]) == first
    assert resolve(store, "HEAD") == resolve(store, "refs/heads/side") == second
    assert resolve(store, "HEAD~1") == resolve(store, "@^") == resolve(store, "side~1") == first


@pytest.mark.parametrize(
    "name", ["nope", "", "--all", "-x", "a b", "main..main", "@{u}", "main:a", "0" * 40, "f" * 40]
)
def test_what_names_no_commit_is_none(store: Store, name: str) -> None:
    assert resolve(store, name) is None


def test_a_ref_moves_only_from_its_old_value(repository: Path, store: Store) -> None:
    first = store.repository.commit
    second = commit(repository, {"a": "b\n"})
    publish(store, ref=REF, new=first, old=None)
    with pytest.raises(RefMoved):
        publish(store, ref=REF, new=second, old=None)
    with pytest.raises(RefMoved):
        publish(store, ref=REF, new=first, old=second)
    with pytest.raises(RefMoved):
        publish(store, ref=REF + "1", new=first, old=second)
    publish(store, ref=REF, new=second, old=first)
    assert git(repository, "rev-parse", REF) == second


def test_several_refs_move_together_or_not_at_all(repository: Path, store: Store) -> None:
    first = store.repository.commit
    publish(store, ref=REF, new=first, old=None)
    other = RefUpdate(ref="refs/codeframe/runs/2", new=first, old=None)
    with pytest.raises(RefMoved):
        update_refs(store, [other, RefUpdate(ref=REF, new=first, old=None)])
    assert list(list_refs(store, "refs/codeframe/")) == [REF]
    update_refs(store, [other, RefUpdate(ref=REF, new=None, old=first)])
    assert list(list_refs(store, "refs/codeframe/")) == [other.ref]
    assert git(repository, "for-each-ref", "--format=%(refname)", "refs/codeframe") == other.ref


def test_packed_refs_are_seen_and_changed(repository: Path, store: Store) -> None:
    first = store.repository.commit
    publish(store, ref=REF, new=first, old=None)
    git(repository, "pack-refs", "--all", "--prune")
    assert list_refs(store, REF) == {REF: first}
    update_refs(store, [RefUpdate(ref=REF, new=None, old=first)])
    assert REF not in git(repository, "for-each-ref")
    assert (repository / ".git/packed-refs").is_file()
    assert not (repository / ".git/packed-refs").is_symlink()
    assert (store.raw / "packed-refs").is_symlink()


def test_a_ref_to_nothing_is_refused(store: Store) -> None:
    with pytest.raises(gitcall.GitError):
        publish(store, ref="refs/heads/x", new="1" * 40, old=None)


def test_a_lock_that_goes_away_is_waited_for(repository: Path, store: Store) -> None:
    lock = repository / ".git/refs/heads/x.lock"
    lock.touch()
    timer = threading.Timer(0.3, lock.unlink)
    timer.start()
    publish(store, ref="refs/heads/x", new=store.repository.commit, old=None)
    timer.join()
    assert resolve(store, "x") == store.repository.commit


def test_a_lock_that_stays_is_a_clear_error_in_bounded_time(
    repository: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitcall, "LOCK_PATIENCE_S", 0.2)
    (repository / ".git/refs/heads/x.lock").touch()
    started = time.monotonic()
    with pytest.raises(Locked, match=rf"^{repository}: another git process holds a lock"):
        publish(store, ref="refs/heads/x", new=store.repository.commit, old=None)
    assert time.monotonic() - started < 20


def test_a_repository_deleted_meanwhile_is_a_clear_error(repository: Path, store: Store) -> None:
    first = store.repository.commit
    shutil.rmtree(repository)
    for act in (
        lambda: list_refs(store, "refs/"),
        lambda: resolve(store, "main"),
        lambda: publish(store, ref=REF, new=first, old=None),
        lambda: log(store, "main"),
    ):
        with pytest.raises(RepositoryGone, match=str(repository)):
            act()


def test_ancestry_and_the_log_are_told(repository: Path, store: Store) -> None:
    first = store.repository.commit
    second = commit(repository, {"a": "b\n"}, "Zwölf\n\nbody")
    assert is_ancestor(store, ancestor=first, descendant=second)
    assert not is_ancestor(store, ancestor=second, descendant=first)
    rows = log(store, f"{first}..main")
    assert [(row.commit, row.parents, row.subject) for row in rows] == [(second, (first,), "Zwölf")]
    assert rows[0].author == "Ada"
    assert log(store, "main", limit=1)[0].commit == second
    git(repository, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    assert log(store, "main", limit=1)[0].subject == ""


def test_a_store_opened_twice_at_once_is_whole(repository: Path, tmp_path: Path) -> None:
    found = inspect(repository)
    results: list[str | None] = []

    def work() -> None:
        results.append(resolve(open_store(tmp_path / "s", found), "main"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [found.commit] * 8


def test_objects_of_alternates_are_found(tmp_path: Path, repository: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(repository), "borrower")
    alternates = tmp_path / "borrower/.git/objects/info/alternates"
    alternates.write_text("../../../repository/.git/objects\n")
    found = inspect(tmp_path / "borrower")
    assert resolve(open_store(tmp_path / "s", found), "main") == found.commit


def test_the_installed_git_is_new_enough() -> None:
    assert gitcall.installed_version() >= gitcall.MINIMUM_VERSION
