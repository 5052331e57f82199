"""Known secrets are masked before anything is stored or shown; by as many characters, so that
offsets into an agent's output stay true.

What is known: keys in the database, and variables of the server's environment that are secrets by
their name. A secret that was changed in form (base64, say) is not found.
"""

import json
import re
import threading
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from django.conf import settings

SHORTEST = 8
"""Shorter values are too likely to be ordinary words."""
MASK = "*"


class Redactor:
    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values if len(value) >= SHORTEST for form in _forms(value)}
        self._bytes = sorted({form.encode() for form in forms}, key=len, reverse=True)
        self._text = _pattern(sorted(forms, key=len, reverse=True))
        self._data = re.compile(b"|".join(map(re.escape, self._bytes))) if forms else None
        self.longest = len(self._bytes[0]) if forms else 0

    def text(self, value: str) -> str:
        return self._text.sub(_masked, value) if self._text else value

    def data(self, value: bytes) -> bytes:
        if self._data is None:
            return value
        return self._data.sub(_masked_data, value)

    def within(self, before: bytes, data: bytes, after: bytes) -> bytes:
        """`data` as it is masked where it stands: a secret may begin before it or end behind."""
        whole = self.data(before + data + after)
        return whole[len(before) : len(before) + len(data)]

    def unsure(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a secret that goes on."""
        for size in range(min(len(data), self.longest - 1), 0, -1):
            end = data[-size:]
            if any(len(form) > size and form.startswith(end) for form in self._bytes):
                return size
        return 0


def _forms(value: str) -> set[str]:
    """As it is, inside JSON, and inside an address."""
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return forms | {quote(value, safe="")}


def _pattern(forms: list[str]) -> "re.Pattern[str] | None":
    return re.compile("|".join(map(re.escape, forms))) if forms else None


def _masked(match: "re.Match[str]") -> str:
    """Lines stay lines, so that line numbers stay true too."""
    return re.sub(r"[^\n]", MASK, match[0])


def _masked_data(match: "re.Match[bytes]") -> bytes:
    return re.sub(rb"[^\n]", MASK.encode(), match[0])


# -- what this process knows ---------------------------------------------------------------------

_lock = threading.Lock()
_learned: set[str] = set()
_current: Redactor | None = None


def known() -> Redactor:
    global _current
    if _current is None:
        with _lock:
            _current = Redactor({*settings.ENVIRONMENT_SECRETS.values(), *_learned})
    return _current


def learn(secrets: Mapping[str, str]) -> None:
    """Never forgotten while the process lives: what was deleted may still be printed."""
    global _current
    new = set(secrets.values()) - _learned
    if new:
        with _lock:
            _learned.update(new)
            _current = None


def text(value: str) -> str:
    return known().text(value)
