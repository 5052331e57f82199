"""What a run left outside the database: the agent's output and its changes, in bounded pieces."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from batches import paths, shown
from batches.integration.changes import diff_patch
from batches.keys import load_keys
from batches.models import Run
from batches.supervisor.layout import STREAMS
from batches.web.plain_text import plain_text
from tasks.workspaces import git
from tasks.workspaces.inspection import inspect

TAIL_BYTES = 64 * 1024
PATCH_BYTES = 256 * 1024

TONES = (
    ("diff ", "file"),
    ("+++", "meta"),
    ("---", "meta"),
    ("index ", "meta"),
    ("new ", "meta"),
    ("deleted ", "meta"),
    ("old ", "meta"),
    ("@@", "hunk"),
    ("+", "added"),
    ("-", "deleted"),
)
"""How a line of a patch begins, and how it looks; the first match counts."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """The newest part of one stream; `skipped` bytes came before it."""

    stream: str
    text: str
    skipped: int


@dataclass(frozen=True, kw_only=True)
class Patch:
    """`cut`: there is more. `problem`: why there is nothing to show, in words."""

    lines: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    problem: str = ""


def outputs(run: Run) -> list[Output]:
    if run.started_at is None:
        return []
    load_keys()
    found = (_tail(run, stream) for stream in STREAMS)
    return [output for output in found if output.text.strip()]


def _tail(run: Run, stream: str) -> Output:
    chunk = shown.read_tail(run, stream, TAIL_BYTES)
    return Output(stream=stream, text=plain_text(chunk.data), skipped=chunk.offset)


def patch(run: Run) -> Patch:
    """Reads the repository by git; never raises for what may be wrong with it."""
    if not (run.capture_commit and run.base_commit and run.files_changed):
        return Patch()
    try:
        store = git.open_store(
            paths.store_dir(run.batch.workspace_id), inspect(Path(run.batch.workspace.repo_path))
        )
        return _read_patch(store, run)
    except git.GitError as error:
        return Patch(problem=str(error))


def _read_patch(store: git.Store, run: Run) -> Patch:
    # By way of a file: a patch may be larger than what we are willing to hold in memory.
    file = store.scratch_file("page-patch")
    try:
        diff_patch(store, base=run.base_commit, commit=run.capture_commit, output=file)
        load_keys()
        shown.mask_file(file)
        with file.open("rb") as opened:
            data = opened.read(PATCH_BYTES + 1)
    finally:
        file.unlink(missing_ok=True)
    cut = len(data) > PATCH_BYTES
    text = plain_text(data[:PATCH_BYTES])
    return Patch(lines=tuple(_shown(text.splitlines())), cut=cut)


def _shown(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each line with its tone; the letters of a binary patch are left out."""
    binary = False
    for line in lines:
        if line.startswith("diff "):
            binary = False
        if not binary:
            yield _tone(line), line
        binary = binary or line == "GIT binary patch"


def _tone(line: str) -> str:
    return next((tone for start, tone in TONES if line.startswith(start)), "same")
