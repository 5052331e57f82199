"""Moving a user's checkout from one commit to another: clean or not at all."""

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Sequence
from types import TracebackType

from batches.integration.changes import ABSENT, Change
from batches.integration.checkouts import CannotMove, Checkout
from tasks.workspaces.git import COMMITTER, GitError, Store
from tasks.workspaces.gitcall import call

_UNFILTERED = (b"unspecified", b"unset")


class Filtered(CannotMove):
    outcome = "filtered"


class Mover:
    """One locked checkout; works on a copy of the user's index, with our configuration."""

    def __init__(self, store: Store, checkout: Checkout, *, lock: int) -> None:
        self._store = store
        self._checkout = checkout
        self._lock = lock
        self._index = store.scratch_file("landing-index")

    def __enter__(self) -> "Mover":
        if self._checkout.index.is_file():
            shutil.copy2(self._checkout.index, self._index)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._index.unlink(missing_ok=True)

    def _git(
        self, *args: str | bytes, input: bytes | None = None, accept: Sequence[int] = (0,)
    ) -> list[bytes]:
        done = call(
            self._store.plain,
            *args,
            named=self._checkout.work_tree,
            work_tree=self._checkout.work_tree,
            index=self._index,
            input=input,
            accept=accept,
            # A git that outlives us keeps the lock until it ends too.
            pass_fds=(self._lock,),
        )
        return done.stdout.split(b"\0")[:-1]

    def require_clean(self, old: str, new: str, changes: Sequence[Change]) -> None:
        """Raises CannotMove, with the files, for anything that moving could harm."""
        if any(row.startswith(b"S ") for row in self._git("ls-files", "-z", "-t")):
            raise CannotMove(f"{self._checkout.work_tree}: it is a sparse checkout.")
        self._require_unfiltered(new, changes)
        left = self._differences(old) | self._in_the_way(changes)
        if left:
            left -= self._adopt_moved(new, changes)
        if left:
            raise CannotMove(
                f"{self._checkout.work_tree}: it has uncommitted changes.", sorted(left)
            )

    def _differences(self, commit: str) -> set[bytes]:
        """Tracked paths whose staged or actual content is not the commit's."""
        staged = self._git(
            "diff-index", "-z", "--cached", "--name-only", "--ignore-submodules=all", commit
        )
        return {*staged, *self._stale()}

    def _stale(self) -> set[bytes]:
        """Paths whose file is not what the index says, after a look at their content."""
        self._git("update-index", "-q", "--really-refresh", accept=(0, 1))
        return {*self._git("diff-files", "-z", "--name-only", "--ignore-submodules=all")}

    def _in_the_way(self, changes: Sequence[Change]) -> set[bytes]:
        return {row.path for row in changes if row.old_mode == ABSENT and self._exists(row.path)}

    def _exists(self, path: bytes) -> bool:
        return os.path.lexists(self._checkout.work_tree / os.fsdecode(path))

    def _adopt_moved(self, new: str, changes: Sequence[Change]) -> set[bytes]:
        """Stage what already is as the new commit has it: a landing was killed half-way."""
        with Mover(self._store, self._checkout, lock=self._lock) as target:
            target._git("read-tree", new)
            unmoved = target._stale()
        moved = [
            row
            for row in changes
            if row.path not in unmoved and (row.new_mode != ABSENT or not self._exists(row.path))
        ]
        rows = [f"{row.new_mode} {row.new_oid}\t".encode() + row.path + b"\0" for row in moved]
        self._git("update-index", "-z", "--index-info", input=b"".join(rows))
        self._git("update-index", "-q", "--refresh", accept=(0, 1))
        return {row.path for row in moved}

    def _require_unfiltered(self, new: str, changes: Sequence[Change]) -> None:
        """By the attributes of today's files, and by those that the new commit brings."""
        paths = b"".join(row.path + b"\0" for row in changes)
        found = self._filtered_paths(paths)
        if any(row.path.rpartition(b"/")[2] == b".gitattributes" for row in changes):
            with Mover(self._store, self._checkout, lock=self._lock) as target:
                target._git("read-tree", new)
                found |= target._filtered_paths(paths, "--cached")
        if found:
            raise Filtered(
                f"{self._checkout.work_tree}: a filter (such as Git LFS) writes some of the files;"
                " only the user's own git can update them.",
                sorted(found),
            )

    def _filtered_paths(self, paths: bytes, *options: str) -> set[bytes]:
        attributes = self._store.repository.common_dir / "info" / "attributes"
        fields = self._git(
            "-c",
            f"core.attributesFile={attributes}",
            "check-attr",
            "-z",
            *options,
            "--stdin",
            "filter",
            input=paths,
        )
        rows = zip(fields[::3], fields[2::3], strict=True)
        return {path for path, value in rows if value not in _UNFILTERED}

    def move(self, old: str, new: str) -> None:
        """The files, then the user's index in one step.

        Raises CannotMove when git refused before it touched a file, else GitError.
        """
        before = self._stale()
        try:
            self._git("read-tree", "-m", "-u", old, new)
        except GitError as error:
            if self._stale() == before:
                raise CannotMove(f"{self._checkout.work_tree}: it stays: {error}") from error
            raise type(error)(f"{error} Some files are moved; land again to go on.") from error
        self._give_index()

    def _give_index(self) -> None:
        index = self._checkout.index
        fresh = index.with_name(f"codeframe-index-{secrets.token_hex(8)}")
        try:
            shutil.copy2(self._index, fresh)
            shutil.copymode(index, fresh)
            fresh.replace(index)
        finally:
            fresh.unlink(missing_ok=True)

    def leave_trace(self, old: str, new: str, reason: str) -> None:
        """What `git reflog` and ORIG_HEAD would tell had the user merged by hand.

        The landing is done: a trace that cannot be written does not take it back.
        """
        with contextlib.suppress(OSError):
            self._write_trace(old, new, reason)

    def _write_trace(self, old: str, new: str, reason: str) -> None:
        git_dir = self._checkout.git_dir
        (git_dir / "ORIG_HEAD").write_text(f"{old}\n")
        who = f"{COMMITTER['GIT_COMMITTER_NAME']} <{COMMITTER['GIT_COMMITTER_EMAIL']}>"
        line = f"{old} {new} {who} {int(time.time())} +0000\t{reason}\n"
        log = git_dir / "logs" / "HEAD"
        if log.is_file():
            with log.open("ab") as file:
                file.write(line.encode(errors="surrogateescape"))
