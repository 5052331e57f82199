"""The integration branch's tip, read by hand where it is a plain file."""

from pathlib import Path

import pytest

from batches import lifecycle
from batches.owner import new_owner
from batches.place import Place
from tasks.workspaces.git import RefMoved
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import commit, git

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    workspace = make_workspace(tmp_path)
    batch = make_batch(workspace, [make_task(workspace)])
    lease = lifecycle.claim_batch(batch_id=batch.id, owner=new_owner())
    assert lease
    return Place(batch, lease)


@pytest.fixture
def repository(place: Place) -> Path:
    return Path(place.batch.workspace.repo_path)


def test_without_a_branch_it_is_the_base(place: Place, repository: Path) -> None:
    assert place.tip() == place.base() == git(repository, "rev-parse", "main")


def test_it_follows_our_own_moves_and_those_of_others(place: Place, repository: Path) -> None:
    base = place.tip()
    first = commit(repository, {"a.txt": "a"})
    place.advance(new=first, old=base)
    assert place.tip() == first
    second = commit(repository, {"b.txt": "b"})
    git(repository, "branch", "--force", place.batch.branch, second)
    assert place.tip() == second


def test_it_is_found_when_git_packed_it(place: Place, repository: Path) -> None:
    first = commit(repository, {"a.txt": "a"})
    place.advance(new=first, old=place.tip())
    git(repository, "pack-refs", "--all")
    assert not (place.store.raw / place.ref).exists()
    assert place.tip() == first
    second = commit(repository, {"b.txt": "b"})
    place.advance(new=second, old=first)
    assert place.tip() == second


def test_other_packed_branches_do_not_count(place: Place, repository: Path) -> None:
    git(repository, "pack-refs", "--all")
    commit(repository, {"a.txt": "a"})
    git(repository, "branch", f"{place.batch.branch}-of-someone")
    git(repository, "pack-refs", "--all")
    assert place.tip() == place.base()


def test_a_branch_that_stands_for_another_is_left_to_git(place: Place, repository: Path) -> None:
    first = commit(repository, {"a.txt": "a"})
    git(repository, "branch", "other", first)
    git(repository, "symbolic-ref", place.ref, "refs/heads/other")
    assert place.tip() == first


def test_an_advance_from_a_stale_tip_is_refused(place: Place, repository: Path) -> None:
    base = place.tip()
    first = commit(repository, {"a.txt": "a"})
    second = commit(repository, {"b.txt": "b"})
    place.advance(new=first, old=base)
    with pytest.raises(RefMoved):
        place.advance(new=second, old=base)
    assert place.tip() == first
