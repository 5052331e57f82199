"""Text in bounded pieces."""

MOST_LINE = 2_000


def clip_line(line: str, most: int = MOST_LINE) -> str:
    left_out = len(line) - most
    return line if left_out <= 0 else f"{line[:most]} [{left_out:,} characters more]"


def head_and_tail(text: str, most: int) -> str:
    left_out = len(text) - most
    if left_out <= 0:
        return text
    half = most // 2
    return f"{text[:half]}\n[{left_out:,} characters left out]\n{text[-half:]}"


def is_binary(beginning: bytes) -> bool:
    return b"\0" in beginning
