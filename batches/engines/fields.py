"""Fields of JSON that a program printed: whatever is missing or of another type is as absent."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn

from costs.tokens import whole

MOST_DOLLARS = 10**6
_AROUND = "\0\ufeff \t\r\n"

Node = Mapping[str, Any]


def parse_object(line: bytes) -> Node | None:
    """None for anything that is not one JSON object."""
    text = line.decode("utf-8", "replace").strip(_AROUND)
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def node(parent: Node, *path: str) -> Node:
    found = raw(parent, *path)
    return found if isinstance(found, dict) else {}


def nodes(parent: Node, *path: str) -> list[Node]:
    found = raw(parent, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts(parent: Node, *path: str) -> list[str]:
    found = raw(parent, *path)
    return [clean(x) for x in found if isinstance(x, str)] if isinstance(found, list) else []


def text(parent: Node, *path: str) -> str:
    """Storable anywhere: no NUL, no half of a surrogate pair."""
    found = raw(parent, *path)
    return clean(found) if isinstance(found, str) else ""


def clean(value: str) -> str:
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def count(parent: Node, *path: str) -> int:
    return whole(raw(parent, *path)) or 0


def has_odd_count(parent: Node, *names: str) -> bool:
    """A count was told, and it is none."""
    return any(parent.get(name) is not None and whole(parent[name]) is None for name in names)


def dollars(parent: Node, *path: str) -> Decimal | None:
    found = raw(parent, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return Decimal(repr(found)) if 0 <= found <= MOST_DOLLARS else None


def seconds(parent: Node, *path: str) -> float | None:
    """Also of digits in a string, as headers have them."""
    found = raw(parent, *path)
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 12:
        found = int(found)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if 0 <= found < 10**11 else None


def raw(parent: Node, *path: str) -> Any:
    found: Any = parent
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
