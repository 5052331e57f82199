"""JSON files of the RUN_DIR. Uses the C half of json: the public module takes 10 ms to import."""

from batches.supervisor.native import os
from batches.supervisor.processes import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    quote: Callable[[str], str]
    make_scanner: Any
else:
    try:
        from _json import encode_basestring_ascii as quote
        from _json import make_scanner
    except ImportError:  # an interpreter without the accelerator
        from json.encoder import py_encode_basestring_ascii as quote
        from json.scanner import py_make_scanner as make_scanner

LONGEST_NOTE = 16 * 1024 * 1024
_PLAIN = {None: "null", True: "true", False: "false"}


class _Options:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: "dict[str, str]" = {}


def loads(text: str) -> "Any":
    """Raises ValueError for what is no JSON."""
    try:
        return make_scanner(_Options)(text.strip(), 0)[0]
    except StopIteration:
        raise ValueError("not JSON") from None


def dumps(value: "Any") -> str:
    if value is None or isinstance(value, bool):
        return _PLAIN[value]
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote(k)}: {dumps(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return repr(value)


def read_note(path: str) -> "Any":
    """Raises FileNotFoundError, ValueError."""
    return loads(read_file(path, LONGEST_NOTE).decode())


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
