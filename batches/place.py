"""Where a batch works: the repository, our store for it, and the integration branch's tip."""

import re
import threading
from functools import cached_property
from pathlib import Path

from batches import paths
from batches.lease import Lease
from batches.models import Batch
from batches.models.batch import Isolation
from batches.persist import persist
from batches.provisioning.preparing import Plan
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect

_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Place:
    """One per batch and owner, shared by its attempts' threads."""

    def __init__(self, batch: Batch, lease: Lease) -> None:
        self.batch = batch
        self._lease = lease
        self._begin = threading.Lock()
        self.integrating = threading.Lock()
        """Two results are never merged onto one tip at once."""
        self.planning = threading.Lock()
        self.plans: dict[str, Plan] = {}
        """Environments that a commit asks for; hold `planning`."""

    @cached_property
    def _opened(self) -> git.Store:
        path = Path(self.batch.workspace.repo_path)
        return git.open_store(paths.store_dir(self.batch.workspace_id), inspect(path))

    @property
    def store(self) -> git.Store:
        """Raises GitError, for example when the repository is gone."""
        with self._begin:
            return self._opened

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.batch.branch}"

    @property
    def isolated(self) -> bool:
        return self.batch.isolation == Isolation.WORKTREE

    def base(self) -> str:
        """The commit the batch began from; fixed, with its branch made, by the first who asks."""
        store = self.store
        with self._begin:
            if not self.batch.base_commit:
                name = self.batch.base_branch
                base = git.resolve(store, f"refs/heads/{name}" if name else "HEAD")
                if base is None:
                    raise git.GitError(f"{store.repository.path}: branch {name!r} is gone.")
                self._save(base_commit=base)
        return self.batch.base_commit

    def tip(self) -> str:
        """Where the next run starts from. The branch is the truth, our row its shadow."""
        return self._branch_tip() or self.base()

    def advance(self, *, new: str, old: str) -> None:
        """Moves the integration branch; raises RefMoved. Hold `integrating`."""
        exists = self._branch_tip() is not None
        git.publish(
            self.store, ref=self.ref, new=new, old=old if exists else None, reason="integrate"
        )
        self._save(integrated_commit=new)

    def _branch_tip(self) -> str | None:
        """None while there is no branch. Read by hand, first where git writes first: a process
        takes longer than all our own part of a run. What is no plain ref is left to git."""
        refs = self.store.raw
        commit = _read(refs / self.ref).decode(errors="replace").strip()
        if _OBJECT.fullmatch(commit):
            return commit
        if not commit and self.ref.encode() not in _read(refs / "packed-refs"):
            return None
        return git.resolve(self.store, self.ref)

    def _save(self, **facts: str) -> None:
        for name, value in facts.items():
            setattr(self.batch, name, value)
        persist(lambda: self._lease.require(**facts))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
