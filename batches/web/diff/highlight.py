"""Colours for code in a diff: classes by an allow-list of token kinds, within a bounded time."""

import time
from collections.abc import Iterable, Iterator, Sequence

from django.utils.html import escape, format_html
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

from batches.web.diff.parse import DiffLine, FileDiff

MAX_FILE_CHARS = 100_000
LONGEST_LINE = 500
"""Beyond these a file stays plain: lexers are not made for what is not code."""
BUDGET_S = 0.6
"""Of this thread's own time, for all files of a page; those that come later stay plain."""

_KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "comment"),
    (Keyword, "keyword"),
    (String, "string"),
    (Number, "number"),
    (Operator.Word, "keyword"),
    (Name.Function, "function"),
    (Name.Class, "function"),
    (Name.Tag, "keyword"),
    (Name.Attribute, "function"),
    (Name.Builtin, "builtin"),
    (Name.Decorator, "builtin"),
)


def highlight(files: Iterable[FileDiff]) -> None:
    """Gives every line its `html`; a hunk is read as the old and as the new text by itself."""
    began = time.thread_time()
    for file in files:
        lexer = _lexer(file) if time.thread_time() - began < BUDGET_S else None
        for hunk in file.hunks:
            if lexer is None or time.thread_time() - began > BUDGET_S:
                _plain(hunk.lines)
                continue
            _paint(lexer, [line for line in hunk.lines if line.kind in ("same", "deleted")])
            _paint(lexer, [line for line in hunk.lines if line.kind in ("same", "added")])
            _plain([line for line in hunk.lines if line.kind == "note"])


def _lexer(file: FileDiff) -> Lexer | None:
    lines = [line.text for hunk in file.hunks for line in hunk.lines]
    if sum(map(len, lines)) > MAX_FILE_CHARS or any(len(text) > LONGEST_LINE for text in lines):
        return None
    try:
        return get_lexer_for_filename(file.path, stripnl=False, stripall=False, ensurenl=False)
    except ClassNotFound:
        return None


def _plain(lines: Sequence[DiffLine]) -> None:
    for line in lines:
        line.html = escape(line.text)


def _paint(lexer: Lexer, lines: Sequence[DiffLine]) -> None:
    text = "\n".join(line.text.replace("\n", " ") for line in lines)
    painted = list(_by_line(lexer.get_tokens(text)))
    if len(painted) != len(lines):  # the lexer has its own idea of lines
        _plain(lines)
        return
    for line, html in zip(lines, painted, strict=True):
        line.html = html


def _by_line(tokens: Iterable[tuple[_TokenType, str]]) -> Iterator[str]:
    parts: list[str] = []
    for kind, value in tokens:
        name = next((name for known, name in _KINDS if kind in known), "")
        first, *rest = value.split("\n")
        parts.append(_span(name, first))
        for text in rest:
            yield "".join(parts)
            parts = [_span(name, text)]
    yield "".join(parts)


def _span(name: str, text: str) -> str:
    if not text:
        return ""
    return format_html('<span class="t-{}">{}</span>', name, text) if name else escape(text)
