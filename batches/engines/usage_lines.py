"""Token counts in the output of any program, found as its engine's definition says."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from batches.engines.events import EngineEvent, Usage
from batches.engines.fields import Node, clean, count, dollars, has_odd_count, parse_object, text
from batches.engines.parsing import Parser
from costs.tokens import Tokens, from_json, of_totals

COUNTS = ("input", "cache_read", "cache_write", "output", "reasoning")
PLACES = (*COUNTS, "cost", "model", "id")
ODD = "a number that was told is too large or none; it is not counted"
FLAGS = ("input_has_cache", "cumulative")
MOST_PATTERN = 500
MOST_SEARCHED = 2000
"""Characters of a line that a pattern is tried on: it must not take time that a stop needs."""


class UsageFormatError(ValueError):
    """A format that cannot be used; the message is for the person who wrote it."""


class UsageLines(Parser):
    """`form` maps what is wanted to dotted names in JSON lines, or has a pattern with groups."""

    def __init__(
        self, form: Mapping[str, Any], *, model: str = "", state: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(model=model, state=state)
        self._form = form
        self._pattern = re.compile(form["pattern"]) if form.get("pattern") else None

    def read(self, line: bytes, at: int = 0) -> Sequence[EngineEvent] | None:
        found = self._in_text(line) if self._pattern else self._in_object(line)
        if found is None or not any(name in found for name in (*COUNTS, "cost")):
            return None
        odd = has_odd_count(found, *COUNTS)
        tokens, usd = self._tokens(found), dollars(found, "cost")
        if self._form.get("cumulative"):
            tokens = Tokens() if odd else self._since_before(tokens)
        odd = odd or (usd is None and "cost" in found)
        return [
            Usage(
                call_id=text(found, "id")[:150] or f"line:{at}",
                model=text(found, "model") or self.model,
                tokens=tokens,
                reported_usd=usd,
                estimated=odd,
                note=ODD if odd else "",
            )
        ]

    def _tokens(self, found: Node) -> Tokens:
        counts = {name: count(found, name) for name in COUNTS}
        if not self._form.get("input_has_cache"):
            return Tokens(**counts)
        return of_totals(
            total_input=counts["input"],
            cached=counts["cache_read"],
            written=counts["cache_write"],
            output=counts["output"],
            reasoning=counts["reasoning"],
        )

    def _since_before(self, total: Tokens) -> Tokens:
        before = from_json(self.known.get("total"))
        self.known["total"] = total.as_json()
        return since(before, total)

    def _in_object(self, line: bytes) -> Node | None:
        whole = parse_object(line)
        if whole is None:
            return None
        return {name: value for name, value in self._places(whole) if value is not None}

    def _places(self, whole: Node) -> list[tuple[str, Any]]:
        return [(name, _at(whole, self._form[name])) for name in PLACES if self._form.get(name)]

    def _in_text(self, line: bytes) -> Node | None:
        assert self._pattern is not None
        match = self._pattern.search(clean(line[:MOST_SEARCHED].decode("utf-8", "replace")))
        if match is None:
            return None
        return {name: _value(name, said) for name, said in match.groupdict().items() if said}


def since(before: Tokens, total: Tokens) -> Tokens:
    """What a counter grew by; one that fell has begun anew."""
    fell = total.input < before.input or total.output < before.output
    return total if fell else total.minus(before)


def check_format(form: object) -> None:
    """Raises UsageFormatError."""
    if not isinstance(form, Mapping):
        raise UsageFormatError('must be an object, for example {"input": "usage.input"}.')
    for name, value in form.items():
        _check_entry(name, value)
    if form and not any(form.get(name) for name in (*COUNTS, "cost", "pattern")):
        raise UsageFormatError(f"must say where one of {', '.join(COUNTS)} or cost is.")


def _check_entry(name: object, value: object) -> None:
    if name in FLAGS:
        if not isinstance(value, bool):
            raise UsageFormatError(f"{name} must be true or false.")
    elif name == "pattern":
        _check_pattern(value)
    elif name not in PLACES:
        known = ", ".join((*PLACES, "pattern", *FLAGS))
        raise UsageFormatError(f"{name!r} is not known; there are {known}.")
    elif not isinstance(value, str) or not value:
        raise UsageFormatError(f"{name} must be a name, dotted where it lies deeper.")


def _check_pattern(value: object) -> None:
    if not isinstance(value, str) or len(value) > MOST_PATTERN:
        raise UsageFormatError(f"pattern must be text of up to {MOST_PATTERN} characters.")
    try:
        groups = re.compile(value).groupindex
    except re.error as error:
        raise UsageFormatError(f"pattern: {error}.") from error
    if not set(groups) & {*COUNTS, "cost"} or not set(groups) <= set(PLACES):
        raise UsageFormatError(f"pattern must have named groups of {', '.join(PLACES)}.")


def _at(whole: Node, path: str) -> Any:
    found: Any = whole
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _value(name: str, said: str) -> Any:
    """Digits may be grouped by commas or underscores."""
    if name in ("model", "id"):
        return said
    digits = said.replace(",", "").replace("_", "")
    try:
        return float(Decimal(digits)) if name == "cost" else int(digits)
    except (ValueError, ArithmeticError):
        return said  # no number: it is marked as odd, not passed over
