"""Which indexes and addresses packages may come from, compared by parsed parts."""

from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

_PORTS = {"https": 443, "http": 80, "ssh": 22}


def is_allowed(address: str, allowed: Sequence[str]) -> bool:
    """Same scheme, host and port as one of them, and a path at or below its path.

    Never by the beginning of the text: https://example.org/good would let in .../good-evil.
    """
    wanted = _parsed(address.removeprefix("git+"))
    return wanted is not None and any(
        _covers(known, wanted) for known in map(_parsed, allowed) if known is not None
    )


def _parsed(address: str) -> SplitResult | None:
    """None for what could be read in two ways: credentials, queries, escapes, dot segments."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        return None
    if "@" in parts.netloc or parts.query or parts.fragment or "%" in parts.path:
        return None
    if "\\" in address or any(segment in (".", "..") for segment in parts.path.split("/")):
        return None
    return parts


def _covers(known: SplitResult, wanted: SplitResult) -> bool:
    if (known.scheme, known.hostname) != (wanted.scheme, wanted.hostname):
        return False
    if (known.port or _PORTS[known.scheme]) != (wanted.port or _PORTS[wanted.scheme]):
        return False
    above, below = _segments(known.path), _segments(wanted.path)
    return below[: len(above)] == above


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]
