"""Text that any database and any JSON parser takes."""

import json
import math
from typing import Any


def storable(text: str) -> str:
    """Without NUL and lone surrogates, which PostgreSQL refuses."""
    return text.replace("\x00", "\u2400").encode("utf-8", "replace").decode("utf-8")


def storable_json(value: Any) -> Any:
    """A JSON value equal to `value` where that can be, else what it looked like; never raises."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [storable_json(item) for item in value]
    if isinstance(value, bytes):
        return storable(value.decode("utf-8", "replace"))
    return storable(str(value))


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, the cut shown by an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def compact_json(value: Any) -> str:
    return json.dumps(storable_json(value), ensure_ascii=False, separators=(",", ":"))
