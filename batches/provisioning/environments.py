"""Rows about shared environments: built, used, and by which live runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from batches import owner, paths
from batches.models import Batch, Environment, Run
from batches.models.batch import ACTIVE
from batches.persist import persist
from batches.provisioning.building import Ready
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.provisioning.tools import load_tool
from tasks.events import types
from tasks.events.log import record_one

Used = list[dict[str, Any]]


def note_use(
    ready: Ready, *, workspace_id: UUID, run: Run | None = None, batch_id: UUID | None = None
) -> None:
    """With an event when it was built just now. Hold the environment's lock."""
    facts = {
        "tool": ready.seal.tool,
        "versions": ready.seal.versions,
        "bytes": ready.seal.bytes,
        "files": ready.seal.files,
        "build_seconds": ready.seal.seconds,
        "last_used_at": timezone.now(),
    }

    def write() -> None:
        with transaction.atomic():
            Environment.objects.update_or_create(
                workspace_id=workspace_id, host=owner.host_name(), key=ready.key, defaults=facts
            )
            if ready.built:
                record_one(
                    workspace_id=workspace_id,
                    type=types.RUN_ENVIRONMENT,
                    batch_id=run.batch_id if run else batch_id,
                    run_id=run.id if run else None,
                    task_id=run.task_id if run else None,
                    payload=_built(ready),
                )

    persist(write)


def _built(ready: Ready) -> dict[str, Any]:
    seal = ready.seal
    return {
        "tool": seal.tool,
        "key": ready.key,
        "versions": seal.versions,
        "seconds": seal.seconds,
        "bytes": seal.bytes,
        "replaced": ready.was_changed,
    }


def surroundings(
    used: Iterable[Mapping[str, Any]], *, workspace_id: UUID, own: Path, tree: Path
) -> Surroundings:
    """Of environments as a run has noted them."""
    joined = NOTHING
    for item in used:
        tool = load_tool(item["tool"])
        shared = paths.environments_dir(workspace_id) / item["key"]
        folder = own / tool.ecosystem if item["own"] else shared
        joined = joined.joined_with(tool.surroundings(folder, tree))
    conda = own / "conda" / "bin"
    return joined.joined_with(Surroundings(bins=(conda,))) if conda.is_dir() else joined


def keys_in_use() -> set[str]:
    """Of every batch that is not over: their runs, and what they validate with, need them."""
    runs = Run.objects.filter(batch__status__in=ACTIVE).exclude(environments=[])
    batches = Batch.objects.filter(status__in=ACTIVE).exclude(environments=[])
    rows = [*runs.values_list("environments", flat=True)]
    rows += batches.values_list("environments", flat=True)
    return {item["key"] for used in rows for item in used}
