"""Bytes that programs wrote for a terminal, as text that a page can show."""

from tasks.text import printable


def plain_text(data: bytes) -> str:
    return printable(data.decode("utf-8", "replace"))
