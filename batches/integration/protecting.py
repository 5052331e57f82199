"""Paths that a workspace's configuration protects from every change."""

import re
from collections.abc import Sequence

from batches.integration.changes import Change
from batches.integration.vetting import REFUSE, Context, Rule


def protecting(patterns: Sequence[str]) -> list[Rule]:
    """`*` and `?` stop at a slash, `**` does not; a pattern that ends in a slash means all below.

    A pattern without a slash holds in every folder.
    """
    if not patterns:
        return []
    known = [(pattern, re.compile(_expression(pattern), re.DOTALL)) for pattern in patterns]

    def finds(change: Change, context: Context) -> str | None:
        path = change.path.decode(errors="surrogateescape")
        matched = next((text for text, pattern in known if pattern.fullmatch(path)), None)
        return f"The configuration protects {matched}." if matched else None

    return [Rule(name="protected_path", severity=REFUSE, finds=finds, judges_deletions=True)]


def _expression(pattern: str) -> str:
    text = pattern.removeprefix("./")
    if text.endswith("/"):
        text += "**"
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    spelled = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(spelled.get(piece, re.escape(piece)) for piece in pieces)
    return expression if "/" in text.rstrip("/") else f"(?:.*/)?{expression}"
