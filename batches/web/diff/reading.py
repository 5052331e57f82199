"""A run's changes, read from git in bounded size and made ready to be shown."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.safestring import SafeString, mark_safe

from batches import paths
from batches.integration.changes import diff_patch
from batches.models import Run
from batches.shown import mask_file
from batches.web.diff.highlight import highlight
from batches.web.diff.parse import DiffLine, FileDiff, Hunk, parse
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect

PATCH_BYTES = 1024 * 1024
LINES_OPEN = 600
"""A file with more lines is folded at first."""
LINES_SHOWN = 6000
"""On one page; files behind that are named, and shown by themselves."""


@dataclass(kw_only=True)
class ShownFile:
    number: int
    diff: FileDiff
    open: bool = True
    left_out: bool = False


@dataclass(kw_only=True)
class Changes:
    """`cut`: the patch is larger than what was read. `problem`: why there is nothing, in words."""

    files: list[ShownFile] = field(default_factory=list)
    cut: bool = False
    problem: str = ""


def read_changes(run: Run, *, ignore_space: bool = False, only: int | None = None) -> Changes:
    """Never raises for what may be wrong with the repository. `only` is a file's number."""
    if not (run.capture_commit and run.base_commit and run.files_changed):
        return Changes()
    try:
        data = _read_patch(run, ignore_space=ignore_space)
    except git.GitError as error:
        return Changes(problem=str(error))
    files = [
        ShownFile(number=number, diff=diff)
        for number, diff in enumerate(parse(data[:PATCH_BYTES]), start=1)
    ]
    if only is not None:
        files = [file for file in files if file.number == only]
    _bound(files, alone=only is not None)
    highlight(file.diff for file in files if not file.left_out)
    return Changes(files=files, cut=len(data) > PATCH_BYTES)


def _read_patch(run: Run, *, ignore_space: bool) -> bytes:
    workspace = run.batch.workspace
    store = git.open_store(paths.store_dir(workspace.id), inspect(Path(workspace.repo_path)))
    # By way of a file: a patch may be larger than what we are willing to hold in memory.
    file = store.scratch_file("page-patch")
    try:
        diff_patch(
            store,
            base=run.base_commit,
            commit=run.capture_commit,
            output=file,
            ignore_space=ignore_space,
        )
        mask_file(file)
        with file.open("rb") as opened:
            return opened.read(PATCH_BYTES + 1)
    finally:
        file.unlink(missing_ok=True)


def _bound(files: list[ShownFile], *, alone: bool) -> None:
    lines = 0
    for file in files:
        size = sum(len(hunk.lines) for hunk in file.diff.hunks)
        file.open = alone or size <= LINES_OPEN
        file.left_out = lines > 0 and lines + size > LINES_SHOWN
        if not file.left_out:
            lines += size


def side_by_side(hunk: Hunk) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    """Old and new lines in pairs; a note stands alone on the left."""
    old: list[DiffLine] = []
    new: list[DiffLine] = []
    for line in hunk.lines:
        if line.kind == "deleted":
            old.append(line)
        elif line.kind == "added":
            new.append(line)
        else:
            yield from _pairs(old, new)
            old, new = [], []
            yield line, line if line.kind == "same" else None
    yield from _pairs(old, new)


def _pairs(
    old: list[DiffLine], new: list[DiffLine]
) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    for place in range(max(len(old), len(new))):
        yield (
            old[place] if place < len(old) else None,
            new[place] if place < len(new) else None,
        )


def shown(line: DiffLine) -> SafeString:
    """Escaped when it was highlighted."""
    return mark_safe(line.html)  # noqa: S308
