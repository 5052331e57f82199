"""Lines written for a terminal, as HTML: colours by an allow-list of classes, all else as text."""

import re
from collections.abc import Iterator

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from tasks.text import masked_within, printable

MAX_CHARS = 4000
"""Of one line; the whole is in the download."""

_COLOUR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,64})m")
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_BASE = (
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
)
"""The sixteen colours of a terminal; the style sheet has its own shades of them."""


class Painter:
    """Give it the lines in order: a colour stays until it is put off, over lines too."""

    def __init__(self) -> None:
        self._flags: set[str] = set()
        self._colours: dict[str, str] = {}

    def line(self, text: str) -> SafeString:
        """One line without its newline."""
        text = masked_within(text)
        shown, more = text[:MAX_CHARS], len(text) - MAX_CHARS
        parts = [self._piece(words) for words in self._pieces(_last_drawn(shown))]
        if more > 0:
            parts.append(format_html('<span class="cut">… {} more characters</span>', more))
        return mark_safe("".join(parts))  # noqa: S308  every part is escaped above

    def _pieces(self, line: str) -> Iterator[str]:
        """Text between two changes of colour; the change is taken over in between."""
        end = 0
        for match in _COLOUR.finditer(line):
            yield line[end : match.start()]
            self._change(match[1])
            end = match.end()
        yield line[end:]

    def _piece(self, text: str) -> str:
        text = printable(text)
        if not text:
            return ""
        names = " ".join([*sorted(self._flags), *sorted(self._colours.values())])
        if not names:
            return format_html("{}", text)
        return format_html('<span class="{}">{}</span>', names, text)

    def _change(self, codes: str) -> None:
        numbers = [int(code or 0) for code in re.split("[;:]", codes[:64]) if len(code) <= 3]
        while numbers:
            code = numbers.pop(0)
            if code in (38, 48):
                self._extended("fg" if code == 38 else "bg", numbers)
            else:
                self._simple(code)

    def _simple(self, code: int) -> None:
        if code == 0:
            self._flags.clear()
            self._colours.clear()
        elif code in _FLAGS:
            self._flags.add(_FLAGS[code])
        elif code in _OFF:
            self._flags.difference_update(_OFF[code])
        elif code in (39, 49):
            self._colours.pop("fg" if code == 39 else "bg", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self._set("fg", code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            self._set("bg", code - 40 if code < 100 else code - 92)

    def _extended(self, ground: str, numbers: list[int]) -> None:
        """38;5;N and 38;2;R;G;B, as the nearest of the sixteen."""
        kind = numbers.pop(0) if numbers else 0
        if kind == 5 and numbers:
            self._set(ground, _of_palette(numbers.pop(0)))
        elif kind == 2 and len(numbers) >= 3:
            self._set(ground, _nearest((numbers.pop(0), numbers.pop(0), numbers.pop(0))))
        else:
            numbers.clear()  # half a colour: what is left of it means nothing by itself

    def _set(self, ground: str, number: int) -> None:
        self._colours[ground] = f"{ground}{number}"


def _of_palette(number: int) -> int:
    if number < 16:
        return number
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return _nearest((grey, grey, grey))
    cube = number - 16
    steps = (cube // 36, cube // 6 % 6, cube % 6)
    red, green, blue = (0 if step == 0 else 55 + 40 * step for step in steps)
    return _nearest((red, green, blue))


def _nearest(colour: tuple[int, int, int]) -> int:
    def distance(number: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(_BASE[number], colour, strict=True))

    return min(range(16), key=distance)


def _last_drawn(line: str) -> str:
    """Of a line drawn over by carriage returns, what was drawn last."""
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if printable(part)), "")
