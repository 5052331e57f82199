"""Bytes that programs wrote for a terminal, as text that a page can show."""

import re

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# They reorder what is seen, so that a line can read as what it is not.
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain_text(data: bytes) -> str:
    """Without escape sequences and controls; of a line drawn over, what was drawn last."""
    text = _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
    lines = map(_last_drawn, text.split("\n"))
    return _REORDERING.sub(_named, _CONTROLS.sub("", "\n".join(lines)))


def _last_drawn(line: str) -> str:
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part), "")


def _named(match: re.Match[str]) -> str:
    return f"<U+{ord(match[0]):04X}>"
