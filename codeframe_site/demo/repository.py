"""The demo's throw-away repository: a small library whose tests fail until the first task."""

import os
import shutil
from pathlib import Path

from tasks.workspaces.commands import base_environment, run

PROJECT = Path(__file__).parent / "project"
TIMEOUT_S = 60

HISTORY = (
    ("Start pocketbook: amounts as whole cents", (":!tests",)),
    ("Test that amounts are read to the cent: 19.99 is not", ()),
)


class DemoError(Exception):
    """Git could not do what the demo's repository needs; its words are in the message."""


def build(path: Path) -> None:
    """Raises FileExistsError if there is something at path, DemoError or CommandError for git."""
    shutil.copytree(PROJECT, path, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    _git(path, "init", "--quiet", "--initial-branch=main", "--template=")
    for subject, left_out in HISTORY:
        _git(path, "add", "--all", "--", ".", *left_out)
        _git(path, "commit", "--quiet", "-m", subject)


def _git(path: Path, *words: str) -> None:
    done = run(["git", *words], cwd=path, env=_environment(), timeout_s=TIMEOUT_S)
    if not done.ok:
        said = done.stderr.decode(errors="replace").strip()
        raise DemoError(f"git {words[0]} failed in {path}: {said}")


def _environment() -> dict[str, str]:
    # The user's own configuration could sign, template or hook the demo's commits.
    return {
        **base_environment(),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "Pocketbook Team",
        "GIT_AUTHOR_EMAIL": "team@pocketbook.example",
        "GIT_COMMITTER_NAME": "Pocketbook Team",
        "GIT_COMMITTER_EMAIL": "team@pocketbook.example",
    }
