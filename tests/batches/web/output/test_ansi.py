import re
import time

import pytest

from batches.engines.ending import last_line
from batches.web.output.ansi import MAX_CHARS, Painter
from costs import redaction
from tasks.text import masked_within, printable


def painted(*lines: str) -> list[str]:
    painter = Painter()
    return [str(painter.line(line)) for line in lines]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    key = "sk-4f8a1c9e7b2d"
    monkeypatch.setattr(redaction, "_current", redaction.Redactor([key]))
    return key


@pytest.mark.parametrize("between", ["\x1b[0m", "\x1b[31m", "\x9b1m", "\x08", "\x1b]0;x\x07"])
def test_a_key_with_an_escape_in_it_is_masked(key: str, between: str) -> None:
    text = f"begin {key[:6]}{between}{key[6:]} end"
    for around in ("", "x" * (MAX_CHARS - 12)):
        seen = re.sub("<[^>]*>", "", painted(around + text)[0])
        assert "sk-" not in seen
        assert seen.startswith(around + "begin ***")
    assert printable(text) == f"begin {'*' * len(key)} end"
    assert last_line(text.encode() + b"\n") == f"begin {'*' * len(key)} end"


def test_all_but_the_key_stays_as_it_was(key: str) -> None:
    red = f"\x1b[31m{key[:3]}\x1b[1m{key[3:]}\x1b[0m plain"
    assert masked_within(red) == f"\x1b[31m***\x1b[1m{'*' * (len(key) - 3)}\x1b[0m plain"
    assert masked_within("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"


@pytest.mark.parametrize(
    ("written", "html"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m not", '<span class="fg1">red</span> not'),
        ("\x1b[1;4;92mx", '<span class="bold underline fg10">x</span>'),
        ("\x1b[44;97mx\x1b[49mx", '<span class="bg4 fg15">x</span><span class="fg15">x</span>'),
        ("\x1b[38;5;196mx", '<span class="fg9">x</span>'),
        ("\x1b[38;2;0;200;0mx", '<span class="fg2">x</span>'),
        ("\x1b[48;5;250mx", '<span class="bg7">x</span>'),
        ("\x1b[38;5mx\x1b[38;2;1mx", "xx"),
        ("\x1b[999999999999mx", "x"),
        ("\x9b32mx", '<span class="fg2">x</span>'),
        ("10%\r50%\r\x1b[32m100%", '<span class="fg2">100%</span>'),
        ("done\r", "done"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07after", "after"),
        ("a\x1b[2Kb\x1b[10;20Hc", "abc"),
        ("\x1bPdevice\x1b\\text", "text"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('\x1b[31m"><img src=x>', '<span class="fg1">&quot;&gt;&lt;img src=x&gt;</span>'),
        ("admin\u202etxt.exe", "admin&lt;U+202E&gt;txt.exe"),
        ("bell\x07 nul\x00 back\x08", "bell nul back"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_colours_are_classes_and_all_else_is_text(written: str, html: str) -> None:
    assert painted(written) == [html]


def test_a_colour_stays_on_over_lines_until_it_is_put_off() -> None:
    assert painted("\x1b[31mone", "two", "\x1b[mthree") == [
        '<span class="fg1">one</span>',
        '<span class="fg1">two</span>',
        "three",
    ]


def test_of_a_very_long_line_the_beginning_is_shown_and_the_rest_counted() -> None:
    (html,) = painted("x" * (MAX_CHARS + 1234))
    assert html == "x" * MAX_CHARS + '<span class="cut">… 1234 more characters</span>'


@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]", "\x1bP", "\r", "\x1b[;;;;", "\x9b", "\x1b[1m"])
def test_no_line_takes_long(piece: str) -> None:
    began = time.process_time()
    painted(*[piece * 2000] * 20)
    assert time.process_time() - began < 2
