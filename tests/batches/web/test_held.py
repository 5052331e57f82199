"""A result that was held back is no dead end."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from batches.models import Batch
from batches.web.held import held_result
from tests.batches.conducting import repository, run_batch
from tests.factories import make_batch, make_task, make_workspace
from tests.repos import git

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def held(tmp_path: Path) -> Batch:
    """Two tasks done, and no gate that could prove it."""
    workspace = make_workspace(tmp_path, gates_waived=False)
    make_task(workspace, "a", r'write a.txt "one\ntwo"')
    make_task(workspace, "b", "write README.md other")
    batch = run_batch(make_batch(workspace))
    assert (batch.status, batch.landing) == ("COMPLETED", "held")
    return batch


def test_its_page_says_why_how_large_it_is_and_what_lands_it(held: Batch, client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada"))
    text = client.get(f"/batches/{held.id}/").content.decode()
    assert held.landing_detail in text
    assert 'changes 2 files <span class="added">+3</span> <span class="deleted">−1</span>' in text
    assert f"git merge {held.branch}</pre>" in text


def test_the_command_lands_it(held: Batch) -> None:
    found = held_result(held)
    assert found
    git(repository(held.workspace), *found.command.split()[1:])
    assert (repository(held.workspace) / "a.txt").read_text() == "one\ntwo\n"


def test_a_repository_that_is_gone_is_said_and_no_error(held: Batch, client: Client) -> None:
    repository(held.workspace).rename(repository(held.workspace).with_name("moved"))
    client.force_login(User.objects.create_superuser("ada"))
    answer = client.get(f"/batches/{held.id}/")
    assert answer.status_code == 200
    assert "How much it changes is unknown" in answer.content.decode()


def test_what_has_landed_waits_for_nobody(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    make_task(workspace, "a")
    assert held_result(run_batch(make_batch(workspace))) is None
