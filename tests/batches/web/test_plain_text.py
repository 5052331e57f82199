import time

import pytest

from batches.web.plain_text import plain_text


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (b"\x1b[1;31mred\x1b[0m plain", "red plain"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"a\x1b[2Kb\x1b[10;20Hc", "abc"),
        (b"\x1bPdevice control\x1b\\text", "text"),
        (b"cut off \x1b[3", "cut off "),
        (b"cut off \x1b", "cut off "),
        (b"10%\r50%\r100%\n", "100%\n"),
        (b"10%\r100%\r\nnext", "100%\nnext"),
        (b"windows\r\nlines\r\n", "windows\nlines\n"),
        (b"bell\x07 nul\x00 back\x08", "bell nul back"),
        (b"tab\tstays", "tab\tstays"),
        ("admin\u202etxt.exe".encode(), "admin<U+202E>txt.exe"),
        (b"\xff\xfe broken", "\ufffd\ufffd broken"),
        ("✓ grün".encode(), "✓ grün"),
    ],
)
def test_what_was_meant_for_a_terminal_is_plain(written: bytes, seen: str) -> None:
    assert plain_text(written) == seen


@pytest.mark.parametrize("piece", [b"\x1b[", b"\x1b]", b"\x1bP", b"\r", b"\x1b[;;;;", b"\x9b"])
def test_no_input_takes_long(piece: bytes) -> None:
    began = time.process_time()
    plain_text(piece * (256 * 1024 // len(piece)))
    assert time.process_time() - began < 2
