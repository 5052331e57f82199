"""Commits of ours: who made them, and what their messages say of their origin."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.workspaces.git import COMMITTER, Store
from tasks.workspaces.gitcall import call


@dataclass(frozen=True, kw_only=True)
class Author:
    name: str
    email: str


CODEFRAME = Author(name="codeframe", email="codeframe@localhost")


def provenance(*, batch: str, run: str, task: str, capture: str) -> dict[str, str]:
    """The trailers by which an integrated commit tells where it comes from."""
    return {
        "Codeframe-Batch": batch,
        "Codeframe-Run": run,
        "Codeframe-Task": task,
        "Codeframe-Capture": capture,
    }


def commit_tree(
    store: Store,
    *,
    tree: str,
    parents: Sequence[str],
    message: str,
    author: Author = CODEFRAME,
    trailers: Mapping[str, str] | None = None,
) -> str:
    """Write a commit; no ref names it yet. `tree` is any name of a tree, `<commit>^{tree}` too."""
    done = call(
        store.raw,
        "commit-tree",
        tree,
        *(part for parent in parents for part in ("-p", parent)),
        named=store.repository.path,
        env=COMMITTER | _author(author),
        input=full_message(message, trailers or {}).encode(errors="replace"),
    )
    return done.stdout.decode().strip()


def _author(author: Author) -> dict[str, str]:
    return {
        "GIT_AUTHOR_NAME": _identity(author.name) or CODEFRAME.name,
        "GIT_AUTHOR_EMAIL": _identity(author.email) or CODEFRAME.email,
    }


def _identity(text: str) -> str:
    """git refuses a name of nothing but punctuation, and a line break would forge a header."""
    clean = re.sub(r"[\x00-\x1f\x7f<>\ud800-\udfff]", "", text).strip()
    return clean if re.search(r"\w", clean) else ""


def full_message(message: str, trailers: Mapping[str, str]) -> str:
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", message.replace("\r\n", "\n")).strip()
    rows = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items()]
    return "\n".join([text or "Change without a message", *([""] if rows else []), *rows, ""])
