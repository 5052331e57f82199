"""Columns of text that fit where they are shown."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from tasks.text import one_line

GAP = "  "
NARROWEST = 12


def table(
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    yielding: Sequence[int] = (),
    width: int | None = None,
) -> list[str]:
    """The first row is the heading; columns with nothing under it are left out.

    With a `width`, in cells, the `yielding` columns are cut one after another until it is kept.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    shown = [at for at, column in enumerate(columns) if len(column) == 1 or any(column[1:])]
    if width is not None:
        _narrow(widths, shown, yielding, width)
    return [
        GAP.join(_fit(row[at], widths[at], right=at in right) for at in shown).rstrip()
        for row in cells
    ]


def shorten(text: str, width: int) -> str:
    """To `width` cells of a terminal, the cut shown by an ellipsis."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _narrow(widths: list[int], shown: Sequence[int], yielding: Sequence[int], width: int) -> None:
    excess = sum(widths[at] for at in shown) + len(GAP) * (len(shown) - 1) - width
    for at in yielding:
        if at in shown and excess > 0:
            cut = min(excess, max(0, widths[at] - NARROWEST))
            widths[at] -= cut
            excess -= cut


def _fit(text: str, width: int, *, right: bool) -> str:
    text = shorten(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding
