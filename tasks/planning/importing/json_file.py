"""JSON with a line for every value, which the standard reader does not give."""

import json
import re
from collections.abc import Iterator

from tasks.planning.importing.problems import Problems, quoted
from tasks.planning.importing.source import Source
from tasks.planning.importing.tree import Node, TreeBuilder, plain_scalar

TOKEN = re.compile(
    r"""[ \t\n]*(?:
        (?P<mark>[\[\]{}:,])
      | (?P<text>"(?:[^"\\\n]|\\.)*+")
      | (?P<literal>(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)
                    (?![\w.+-]))
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
SPACE = re.compile(r"[ \t\n]*")
STRAY = re.compile(r"[\w.+-]{1,20}|.", re.DOTALL)
VALUES = frozenset({"[", "{", "text", "literal"})

# What may come next, and how a message says it.
ALLOWED: dict[str, frozenset[str]] = {
    "a value": VALUES,
    'a value or "]"': VALUES | {"]"},
    'a field name in double quotes or "}"': frozenset({"text", "}"}),
    "a field name in double quotes": frozenset({"text"}),
    '":"': frozenset({":"}),
    '"," or "]"': frozenset({",", "]"}),
    '"," or "}"': frozenset({",", "}"}),
    "the end of the file": frozenset({"end"}),
}
AFTER_OPENING = {"[": 'a value or "]"', "{": 'a field name in double quotes or "}"'}
AFTER_VALUE = {"[": '"," or "]"', "{": '"," or "}"'}
AFTER_COMMA = {"[": "a value", "{": "a field name in double quotes"}


def read_json(source: Source, problems: Problems) -> Node | None:
    """The file's value, or None when it is blank. Raises ImportErrors."""
    if not source.text.strip():
        return None
    builder = TreeBuilder(source, problems)
    opened: list[str] = []
    expected = "a value"
    for kind, text, offset in _tokens(source, builder):
        if kind not in ALLOWED[expected]:
            found = "the end of the file" if kind == "end" else quoted(text)
            raise builder.refusal(offset, f"not JSON: expected {expected}, found {found}")
        expected = _take(kind, text, offset, opened, builder)
    return builder.root


def _take(kind: str, text: str, offset: int, opened: list[str], builder: TreeBuilder) -> str:
    """Hands one token on and says what is expected after it."""
    if kind in AFTER_OPENING:
        builder.open([] if kind == "[" else {}, offset)
        opened.append(kind)
        return AFTER_OPENING[kind]
    if kind == ",":
        return AFTER_COMMA[opened[-1]]
    if kind == ":":
        return "a value"
    is_name = builder.wants_name
    if kind in "]}":
        builder.close()
        opened.pop()
    elif kind == "text":
        builder.scalar(_unescaped(text, offset, builder), offset)
    elif kind == "literal":
        builder.scalar(plain_scalar(text), offset)
    if is_name and kind == "text":
        return '":"'
    return AFTER_VALUE[opened[-1]] if opened else "the end of the file"


def _tokens(source: Source, builder: TreeBuilder) -> Iterator[tuple[str, str, int]]:
    position = 0
    while True:
        match = TOKEN.match(source.text, position)
        if match is None:
            raise _stray(source.text, position, builder)
        group = match.lastgroup or "end"
        text = match[group]
        yield (text if group == "mark" else group), text, match.start(group)
        if group == "end":
            return
        position = match.end()


def _stray(text: str, position: int, builder: TreeBuilder) -> Exception:
    space = SPACE.match(text, position)
    offset = space.end() if space else position
    if text[offset] == '"':
        return builder.refusal(offset, "not JSON: a text must end on the line it begins on")
    stray = STRAY.match(text, offset)
    return builder.refusal(
        offset, f"not JSON: unexpected {quoted(stray[0] if stray else text[offset])}"
    )


def _unescaped(text: str, offset: int, builder: TreeBuilder) -> str:
    try:
        return str(json.loads(text))
    except json.JSONDecodeError as error:
        raise builder.refusal(offset + error.pos, f"not JSON: {error.msg}") from error
