"""Removes environments that nobody needs, on this machine; slow, so never in a worker's loop."""

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from batches import owner, paths
from batches.integration.removal import remove_folder
from batches.models import Batch, Environment, Run
from batches.models.batch import ACTIVE
from batches.models.run import LIVE
from batches.provisioning.environments import keys_in_use
from batches.provisioning.locks import held_at_once
from batches.provisioning.sealing import SEAL, read_seal, size_of
from tasks.models import Workspace

HALF_BUILT_AFTER_S = 3600.0
CACHE = "cache"
LOCK_SUFFIX = ".lock"
OWN_SUFFIX = ".env"


@dataclass(kw_only=True)
class Collected:
    """`removed` are the folders that went; `bytes` is what they took."""

    removed: list[Path]
    bytes: int = 0

    def take(self, folder: Path) -> None:
        self.bytes += size_of(folder)
        remove_folder(folder)
        self.removed.append(folder)


def collect() -> Collected:
    """Safe at any time and more than once; may be killed anywhere and goes on the next time.

    Never what a batch that is not over needs, and never what somebody holds the lock of.
    """
    done = Collected(removed=[])
    _strangers(done)
    _half_built(done)
    _unused(done)
    _over_quota(done)
    _left_copies(done)
    return done


def _homes() -> list[Path]:
    return [home for home in paths.state_folder("environments").iterdir() if home.is_dir()]


def _strangers(done: Collected) -> None:
    """Of workspaces that were removed."""
    known = {row.hex for row in Workspace.objects.values_list("id", flat=True)}
    for home in _homes():
        if home.name not in known:
            done.take(home)


def _half_built(done: Collected) -> None:
    """Without a seal and without a builder; young ones may be just before their first command."""
    for home in _homes():
        for folder in home.iterdir():
            if not folder.is_dir() or folder.name == CACHE or (folder / SEAL).is_file():
                continue
            if time.time() - folder.lstat().st_mtime > HALF_BUILT_AFTER_S:
                _take_locked(folder, done)


def _unused(done: Collected) -> None:
    long_ago = timezone.now() - timedelta(days=settings.ENVIRONMENT_DAYS)
    for row in _rows().filter(last_used_at__lt=long_ago):
        _remove(row, done)


def _over_quota(done: Collected) -> None:
    """The caches go first: they only save time."""
    homes = _homes()
    caches = [home / CACHE for home in homes if (home / CACHE).is_dir()]
    sizes = {cache: size_of(cache) for cache in caches}
    rows = list(_rows().order_by("last_used_at"))
    total = sum(sizes.values()) + sum(row.bytes for row in rows)
    for cache in caches:
        if total > settings.ENVIRONMENT_QUOTA_BYTES and not _is_building(cache.parent):
            total -= sizes[cache]
            done.take(cache)
    for row in rows:
        if total <= settings.ENVIRONMENT_QUOTA_BYTES:
            return
        if _remove(row, done):
            total -= row.bytes


def _left_copies(done: Collected) -> None:
    """Of runs and validations that are over, whose worker could not clean up."""
    for folder in paths.state_folder("trees").glob(f"*{OWN_SUFFIX}"):
        owner_id = UUID(hex=folder.name.removesuffix(OWN_SUFFIX))
        live = Run.objects.filter(id=owner_id, status__in=LIVE).exists()
        if not live and not Batch.objects.filter(id=owner_id, status__in=ACTIVE).exists():
            done.take(folder)


def _rows() -> QuerySet[Environment]:
    return Environment.objects.filter(host=owner.host_name()).select_related("workspace")


def _remove(row: Environment, done: Collected) -> bool:
    folder = paths.environments_dir(row.workspace_id) / row.key
    if not folder.is_dir():
        row.delete()
        return True
    if not _take_locked(folder, done):
        return False
    row.delete()
    return True


def _take_locked(folder: Path, done: Collected) -> bool:
    """False when it is needed. Who begins to use it holds the lock until that is written down."""
    lock = folder.with_name(f"{folder.name}{LOCK_SUFFIX}")
    with held_at_once(lock) as is_ours:
        if not is_ours or folder.name in keys_in_use():
            return False
        (folder / SEAL).unlink(missing_ok=True)  # what a kill leaves of it is never used
        done.take(folder)
    return True


def _is_building(home: Path) -> bool:
    """Whether something is at work there that reads the cache."""
    return any(
        folder.is_dir() and folder.name != CACHE and read_seal(folder) is None
        for folder in home.iterdir()
    )
