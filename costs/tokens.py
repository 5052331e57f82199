"""Token counts of model calls, made comparable; pure arithmetic, so any engine may use it."""

from dataclasses import dataclass, fields

MOST = 10**12
"""A count beyond this is no count: columns and sums must hold what comes in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """`input` is what no cache held; `reasoning` is a part of `output`, not added to it."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def plus(self, other: "Tokens") -> "Tokens":
        return Tokens(**{name: getattr(self, name) + getattr(other, name) for name in NAMES})

    def minus(self, other: "Tokens") -> "Tokens":
        """Never below zero: a counter that fell was reset or wrong, and nothing was given back."""
        return Tokens(
            **{name: max(0, getattr(self, name) - getattr(other, name)) for name in NAMES}
        )

    def as_json(self) -> dict[str, int]:
        return {name: value for name in NAMES if (value := getattr(self, name))}

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in NAMES)


NAMES = tuple(field.name for field in fields(Tokens))


def from_json(note: object) -> Tokens:
    known = note if isinstance(note, dict) else {}
    return Tokens(**{name: whole(known.get(name)) or 0 for name in NAMES})


def of_totals(
    *, total_input: int, cached: int, written: int = 0, output: int, reasoning: int = 0
) -> Tokens:
    """For counters whose input includes what a cache held; never negative where they disagree."""
    return Tokens(
        input=max(0, total_input - cached - written),
        cache_read=cached,
        cache_write=written,
        output=output,
        reasoning=min(reasoning, output),
    )


def whole(value: object) -> int | None:
    """A count as a program told it; None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value != value or not 0 <= value <= MOST or value != int(value):
        return None
    return int(value)
