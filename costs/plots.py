"""Where the parts of a drawing stand; templates make SVG of it, without a style in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from costs.money import ZERO

WIDTH = 720
HEIGHT = 200
LEFT = 56
BOTTOM = 22
TOP = 8
SERIES = 5
"""Told apart by pattern too; the rest is one series more."""
OTHERS = "others"


@dataclass(frozen=True, kw_only=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    series: int
    label: str
    usd: Decimal


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Stacked:
    bars: Sequence[Bar]
    values: Sequence[Tick]
    days: Sequence[Tick]
    names: Sequence[str]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    base: int = HEIGHT - BOTTOM


def stacked(days: Sequence[date], usd: Mapping[tuple[date, str], Decimal]) -> Stacked:
    """A column for each day, a part for each agent; the dearest agent at the bottom."""
    names = _dearest(usd)
    merged = _merged(usd, names)
    top = _round_up(max((sum(row.values(), ZERO) for row in merged.values()), default=ZERO))
    step = (WIDTH - LEFT) / max(1, len(days))
    bars = [
        bar
        for place, day in enumerate(days)
        for bar in _column(day, merged.get(day, {}), names, LEFT + place * step, step, top)
    ]
    return Stacked(bars=bars, values=_values(top), days=_dates(days, step), names=names)


def _dearest(usd: Mapping[tuple[date, str], Decimal]) -> list[str]:
    sums: dict[str, Decimal] = {}
    for (_, name), value in usd.items():
        sums[name] = sums.get(name, ZERO) + value
    names = sorted(sums, key=lambda name: (-sums[name], name))
    return names if len(names) <= SERIES + 1 else [*names[:SERIES], OTHERS]


def _merged(
    usd: Mapping[tuple[date, str], Decimal], names: Sequence[str]
) -> dict[date, dict[str, Decimal]]:
    found: dict[date, dict[str, Decimal]] = {}
    for (day, name), value in usd.items():
        row = found.setdefault(day, {})
        known = name if name in names else OTHERS
        row[known] = row.get(known, ZERO) + value
    return found


def _column(
    day: date, row: Mapping[str, Decimal], names: Sequence[str], x: float, step: float, top: Decimal
) -> list[Bar]:
    bars, y = [], float(HEIGHT - BOTTOM)
    gap = min(4.0, step * 0.2)
    for series, name in enumerate(names):
        value = row.get(name, ZERO)
        height = float(value / top) * (HEIGHT - BOTTOM - TOP) if top else 0.0
        if height <= 0:
            continue
        y -= height
        place = {"x": round(x + gap / 2, 2), "y": round(y, 2)}
        size = {"width": round(step - gap, 2), "height": round(height, 2)}
        label = f"{day.isoformat()} {name}"
        bars.append(Bar(**place, **size, series=series, label=label, usd=value))
    return bars


def _round_up(value: Decimal) -> Decimal:
    """The next of 1, 2, 5 times a power of ten."""
    if value <= 0:
        return ZERO
    unit = Decimal(1).scaleb(value.adjusted())
    return next(unit * step for step in (1, 2, 5, 10) if unit * step >= value)


def _values(top: Decimal) -> list[Tick]:
    if not top:
        return []
    room = HEIGHT - BOTTOM - TOP
    return [
        Tick(at=round(TOP + room * (1 - part / 2), 2), text=_short(top * part / 2))
        for part in (0, 1, 2)
    ]


def _short(value: Decimal) -> str:
    return f"${value.normalize():f}"


def _dates(days: Sequence[date], step: float) -> list[Tick]:
    """At most eight, so that they stand apart."""
    every = max(1, -(-len(days) // 8))
    return [
        Tick(at=round(LEFT + (place + 0.5) * step, 2), text=f"{day:%d %b}")
        for place, day in enumerate(days)
        if place % every == 0
    ]


@dataclass(frozen=True, kw_only=True)
class Part:
    name: str
    value: int
    x: float
    width: float
    series: int
    percent: int


def split(values: Mapping[str, int], *, width: int = WIDTH) -> list[Part]:
    """One bar, parted in proportion; parts of nothing are left out."""
    total = sum(values.values())
    parts, x = [], 0.0
    for series, (name, value) in enumerate(values.items()):
        if value > 0:
            size = width * value / total
            percent = round(100 * value / total)
            parts.append(
                Part(
                    name=name,
                    value=value,
                    x=round(x, 2),
                    width=round(size, 2),
                    series=series,
                    percent=percent,
                )
            )
            x += size
    return parts
