"""What a person chose for a batch, read from a form: every problem at its field, in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.http import QueryDict

from batches.admission import engine_options
from batches.errors import InvalidOptions
from batches.options import BOUNDS, BUDGET_RULE, BatchOptions, is_budget

MOST_IDS = 2000
MINUTES = {"timeout_min": "timeout_s", "stall_min": "stall_timeout_s"}
NUMBERS = ("max_parallel", "max_retries")
CHOICES = ("strategy", "on_failure", "isolation", "land")
MAX_TEXT = 2000
MAX_DIGITS = 9


def defaults() -> dict[str, str]:
    """Those of `BatchOptions`, as a form shows them."""
    options = BatchOptions()
    values = {name: str(getattr(options, name)) for name in (*CHOICES, *NUMBERS)}
    values |= {name: str(getattr(options, target) // 60) for name, target in MINUTES.items()}
    return values | {"gates": "auto", "engine": "", "model": "", "budget": "", "allow_unpriced": ""}


@dataclass(kw_only=True)
class StartForm:
    """`values` are as they were typed, to be shown again; `errors` by field."""

    values: dict[str, str]
    chosen: list[UUID] = field(default_factory=list)
    added: list[UUID] = field(default_factory=list)
    dropped: list[UUID] = field(default_factory=list)
    errors: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, data: QueryDict) -> "StartForm":
        values = defaults()
        for name in values:
            if name in data:
                values[name] = str(data[name]).replace("\0", "").strip()[:MAX_TEXT]
        return cls(
            values=values,
            chosen=_ids(data, "task"),
            added=_ids(data, "add"),
            dropped=_ids(data, "drop"),
        )

    def options(self) -> BatchOptions | None:
        """None when something is wrong; then `errors` says what."""
        fields: dict[str, Any] = {name: self.values[name] for name in CHOICES}
        fields |= {name: self._number(name, *BOUNDS[name]) for name in NUMBERS}
        for name, target in MINUTES.items():
            most = BOUNDS[target][1] // 60
            fields[target] = (self._number(name, 0, most) or 0) * 60
        fields["gates"] = _gates(self.values["gates"])
        fields["model"] = self.values["model"]
        fields["budget"] = self._dollars("budget")
        fields["allow_unpriced"] = bool(self.values["allow_unpriced"])
        fields |= self._engine()
        if self.errors:
            return None
        try:
            return BatchOptions(**fields)
        except InvalidOptions as error:
            self.refuse(error)
            return None

    def refuse(self, error: InvalidOptions) -> None:
        """At the fields that it names, with seconds as the minutes that were asked for."""
        named = error.fields
        if not named:
            name, _, sentence = error.message.partition(": ")
            named = {name: [sentence]} if sentence else {"": [error.message]}
        shown = {target: name for name, target in MINUTES.items()}
        for name, sentences in named.items():
            name = shown.get(name, name)
            self.errors[name if name in self.values else ""] = sentences

    def _engine(self) -> Mapping[str, Any]:
        name = self.values["engine"]
        if not name:
            self.errors["engine"] = ["choose one; without an engine nothing can run"]
            return {}
        try:
            return {"engine": name, "engine_options": engine_options(name)}
        except InvalidOptions as error:
            self.refuse(error)
            return {}

    def _dollars(self, name: str) -> Decimal | None:
        """None where nothing is typed: no limit."""
        text = self.values[name].removeprefix("$").strip()
        if not text:
            return None
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal(0)
        if is_budget(value):
            return value
        self.errors[name] = [BUDGET_RULE]
        return None

    def _number(self, name: str, low: int, high: int) -> int | None:
        text = self.values[name]
        if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
            number = int(text)
            if low <= number <= high:
                return number
        self.errors[name] = [f"must be a whole number from {low} to {high}"]
        return None


def _ids(data: QueryDict, name: str) -> list[UUID]:
    """What is no id is left out: it names nothing."""
    found: list[UUID] = []
    for text in data.getlist(name)[:MOST_IDS]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return list(dict.fromkeys(found))


def _gates(text: str) -> str | list[str]:
    if text in ("auto", "none"):
        return text
    return [name.strip() for name in text.split(",") if name.strip()]
