"""Where to draw each task of a dependency graph: layers from left to right. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from fast_sugiyama import from_edges

from tasks.planning.graph import waves

WIDTH, HEIGHT = 190, 36
"""Of a task's box."""
GAP_X, GAP_Y = 60, 14
MARGIN = 20
UNIT = 72
"""Between two layers, and two places of a layer, as the library counts."""
MOST_SPAN = 40_000
"""Layers crossed by all edges together, up to which crossings are worth avoiding."""

Spot = tuple[float, float]
Edge = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """`spots` are the upper left corners, in the order of the nodes."""

    width: float
    height: float
    spots: tuple[Spot, ...]


def lay_out(count: int, edges: Sequence[Edge]) -> Picture:
    """Nodes are 0 to count - 1; an edge goes from what is done first to what waits for it.

    Raises CycleError.
    """
    spots: dict[int, Spot] = {}
    bottom = 0.0
    for group in _groups(count, edges):
        left, top = min(x for x, _ in group.values()), min(y for _, y in group.values())
        spots |= {node: (x - left, y - top + bottom) for node, (x, y) in group.items()}
        bottom = max(spots[node][1] for node in group) + HEIGHT + 2 * GAP_Y
    alone = [node for node in range(count) if node not in spots]
    spots |= _in_rows(alone, bottom, width=max((x for x, _ in spots.values()), default=0.0))
    return Picture(
        width=max((x for x, _ in spots.values()), default=0) + WIDTH + 2 * MARGIN,
        height=max((y for _, y in spots.values()), default=0) + HEIGHT + 2 * MARGIN,
        spots=tuple((spots[n][0] + MARGIN, spots[n][1] + MARGIN) for n in range(count)),
    )


def _groups(count: int, edges: Sequence[Edge]) -> list[dict[int, Spot]]:
    """What hangs together, the largest first."""
    if not edges:
        return []
    levels = _levels(count, edges)
    if sum(levels[b] - levels[a] for a, b in edges) > MOST_SPAN:
        return [_by_level(levels, {node for edge in edges for node in edge})]
    # Trading neighbours once more takes most of the time, and can hardly be seen.
    found = from_edges(edges, vertex_spacing=UNIT, transpose=False, dummy_vertices=True)
    groups = [
        {
            # The library counts layers from the last to the first.
            int(node): (-y / UNIT * (WIDTH + GAP_X), x / UNIT * (HEIGHT + GAP_Y))
            for node, (x, y) in spots
            if int(node) < count
        }
        for spots, *_ in found
    ]
    return sorted(groups, key=len, reverse=True)


def _levels(count: int, edges: Iterable[Edge]) -> dict[int, int]:
    before: dict[int, list[int]] = {node: [] for node in range(count)}
    for first, then in edges:
        before[then].append(first)
    return {node: level for level, nodes in enumerate(waves(before)) for node in nodes}


def _by_level(levels: Mapping[int, int], nodes: set[int]) -> dict[int, Spot]:
    filled: dict[int, int] = {}
    spots: dict[int, Spot] = {}
    for node in sorted(nodes):
        level = levels[node]
        row = filled[level] = filled.get(level, -1) + 1
        spots[node] = (level * (WIDTH + GAP_X), row * (HEIGHT + GAP_Y))
    return spots


def _in_rows(nodes: Sequence[int], top: float, *, width: float) -> dict[int, Spot]:
    """Tasks that nothing waits for and that wait for nothing."""
    step_x, step_y = WIDTH + GAP_Y, HEIGHT + GAP_Y
    columns = max(ceil(sqrt(len(nodes) / 4)), int((width + WIDTH) // step_x), 1)
    return {
        node: (place % columns * step_x, top + place // columns * step_y)
        for place, node in enumerate(nodes)
    }
