"""Text that any database, any JSON parser and any terminal takes."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNSEEN = re.compile(f"{_ESCAPES.pattern}|{_CONTROLS.pattern}")
# They reorder what is seen, so that a line can read as what it is not.
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


MOST_DEPTH = 50
MOST_BITS = 4096
"""Of a number: PostgreSQL and Python read longer ones, but not without limit."""
MOST_LOOKS = 10_000
"""Characters of what is no JSON."""


def storable(text: str) -> str:
    """Without NUL and lone surrogates, which PostgreSQL refuses."""
    return text.replace("\x00", "\u2400").encode("utf-8", "replace").decode("utf-8")


_redact: Callable[[str], str] = str


def redact_with(function: Callable[[str], str]) -> None:
    """What masks known secrets in all that is stored from now on; this module knows none."""
    global _redact
    _redact = function


def stored(text: str) -> str:
    """As `storable`, with secrets masked: for words of agents, programs and errors."""
    return _redact(storable(text))


def storable_json(value: Any, *, depth: int = MOST_DEPTH) -> Any:
    """A JSON value equal to `value` where that can be, else what it looked like; never raises.

    Secrets in it are masked.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= MOST_BITS else hex(value)
    if isinstance(value, str):
        return stored(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict) and depth:
        return {
            stored(_looks(key)): storable_json(item, depth=depth - 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [storable_json(item, depth=depth - 1) for item in value]
    if isinstance(value, bytes):
        return stored(value.decode("utf-8", "replace"))
    return clip(stored(_looks(value)), MOST_LOOKS)


def _looks(value: Any) -> str:
    """As text; whatever a foreign `__str__` raises, its type has a name."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def printable(text: str) -> str:
    """Without escape sequences and controls; of a line drawn over, what was drawn last.

    Secrets are masked here once more: an escape within one had hidden it.
    """
    lines = map(_last_drawn, _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n"))
    return _REORDERING.sub(_named, _redact(_CONTROLS.sub("", "\n".join(lines))))


def masked_within(text: str) -> str:
    """Secrets masked where escapes and controls stand within them; those stay where they are."""
    seen, end = [], 0
    for match in _UNSEEN.finditer(text):
        seen.append((end, match.start()))
        end = match.end()
    seen.append((end, len(text)))
    said = _redact("".join(text[begin:end] for begin, end in seen))
    parts, at, last = [], 0, 0
    for begin, end in seen:
        parts += [text[last:begin], said[at : at + end - begin]]
        at, last = at + end - begin, end
    return "".join(parts)


def _last_drawn(line: str) -> str:
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part), "")


def _named(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>"


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, the cut shown by an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def plural(count: int, noun: str, many: str = "") -> str:
    """`many` for a noun that does not just take an s."""
    return f"{count} {noun if count == 1 else many or f'{noun}s'}"


def compact_json(value: Any) -> str:
    return json.dumps(storable_json(value), ensure_ascii=False, separators=(",", ":"))
