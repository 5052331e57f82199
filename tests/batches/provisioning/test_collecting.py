"""Property 46: by policy, off the loop, again after a kill, and never what is needed."""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from django.utils.module_loading import import_string

from batches import owner, paths
from batches.models import Environment, Run
from batches.models.batch import BatchStatus
from batches.models.run import RunStatus
from batches.provisioning.collecting import collect
from batches.provisioning.locks import EXCLUSIVE, held
from batches.provisioning.sealing import seal
from batches.shared import LEAVE
from tasks import queue
from tasks.models import Workspace
from tests.codeframe_site.rows import batch_row, run_row, workspace_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(settings: Any, tmp_path: Path) -> Workspace:
    settings.STATE_DIR = tmp_path / "state"
    return workspace_row("shop")


def environment(workspace: Workspace, key: str, *, days: float = 0, kib: int = 64) -> Path:
    folder = paths.environments_dir(workspace.id) / key
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"x" * kib * 1024)
    made = seal(folder, tool="pip", versions={}, seconds=1.0)
    Environment.objects.create(
        workspace=workspace,
        host=owner.host_name(),
        key=key,
        tool="pip",
        bytes=made.bytes,
        last_used_at=timezone.now() - timedelta(days=days),
    )
    return folder


def test_what_is_long_unused_goes_and_what_is_needed_stays(workspace: Workspace) -> None:
    old, used = environment(workspace, "old", days=30), environment(workspace, "used", days=30)
    validated = environment(workspace, "validated", days=30)
    fresh, locked = environment(workspace, "fresh"), environment(workspace, "locked", days=30)
    batch = batch_row(workspace, BatchStatus.RUNNING)
    batch.environments = [{"tool": "pip", "key": "validated", "own": False}]
    batch.save()
    run = run_row(batch)
    Run.objects.filter(id=run.id).update(environments=[{"tool": "pip", "key": "used", "own": True}])
    lock = locked.with_name("locked.lock")
    with held(lock, EXCLUSIVE, check=lambda: None):
        assert collect().removed == [old]
    assert all(folder.is_dir() for folder in (used, validated, fresh, locked))
    assert collect().removed == [locked]
    assert set(Environment.objects.values_list("key", flat=True)) == {"used", "validated", "fresh"}


def test_above_the_quota_the_longest_unused_goes_first(workspace: Workspace, settings: Any) -> None:
    folders = {n: environment(workspace, f"e{n}", days=n, kib=100) for n in (3, 1, 2)}
    settings.ENVIRONMENT_QUOTA_BYTES = 150 * 1024
    assert collect().removed == [folders[3], folders[2]]
    assert folders[1].is_dir()


def test_caches_go_before_environments(workspace: Workspace, settings: Any) -> None:
    folder = environment(workspace, "e", kib=100)
    cache = folder.parent / "cache"
    cache.mkdir()
    (cache / "file").write_bytes(b"x" * 200 * 1024)
    settings.ENVIRONMENT_QUOTA_BYTES = 150 * 1024
    assert collect().removed == [cache]
    assert folder.is_dir()


def test_half_built_ones_and_those_of_strangers_go(workspace: Workspace) -> None:
    half = environment(workspace, "half")
    young = environment(workspace, "young")
    for folder in (half, young):
        (folder / "seal.json").unlink()
    long_ago = time.time() - 7200
    os.utime(half, (long_ago, long_ago))
    stranger = paths.environments_dir(uuid4())
    stranger.mkdir(parents=True)
    assert set(collect().removed) == {half, stranger}
    assert young.is_dir()


def test_copies_of_runs_that_are_over_go(workspace: Workspace) -> None:
    batch = batch_row(workspace, BatchStatus.RUNNING)
    run = run_row(batch, RunStatus.RUNNING)
    kept, left = (paths.own_environment_dir(row) for row in (run.id, uuid4()))
    for folder in (kept, left):
        folder.mkdir()
    assert collect().removed == [left]
    assert kept.is_dir()


def test_a_collection_that_was_killed_is_finished_by_the_next(workspace: Workspace) -> None:
    folder = environment(workspace, "old", days=30)
    (folder / "seal.json").unlink()  # as a kill leaves it: the seal goes first
    assert collect().removed == [folder]
    assert not Environment.objects.exists()
    assert collect().removed == []


def test_a_process_of_the_queue_collects_unless_its_worker_leaves(
    workspace: Workspace,
) -> None:
    folder = environment(workspace, "old", days=30)
    job = import_string(queue.COLLECT)
    LEAVE.set()
    try:
        job()
    finally:
        LEAVE.clear()
    assert folder.is_dir()
    job()
    assert not folder.exists()
