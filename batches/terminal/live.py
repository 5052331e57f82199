"""Bars that move while a person looks: one for the batch, a line for each running task."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from batches.models import Batch
from batches.models.run import LIVE
from batches.terminal.plain import describe
from batches.terminal.states import colour, seconds, sign
from tasks.events import types
from tasks.models import Event
from tasks.tables import shorten
from tasks.text import one_line

ENDS = {
    types.RUN_COMPLETED: "COMPLETED",
    types.RUN_FAILED: "FAILED",
    types.RUN_BLOCKED: "BLOCKED",
    types.RUN_CANCELLED: "CANCELLED",
    types.RUN_LOST: "LOST",
    types.RUN_SKIPPED: "SKIPPED",
}
TITLE_WIDTH = 36
STAGE_WIDTH = 9
TIME_WIDTH = 11
BAR_WIDTH = 30
GAP = 2
NARROW = 90
"""Cells: a terminal under that gets a bar and titles of half the width."""


class Row:
    def __init__(self, title: str, since: datetime) -> None:
        self.title = title
        self.stage = ""
        self.line = ""
        self.since = since


class LivePrinter:
    """Ended tasks scroll away as lines above the bars."""

    def __init__(self, batch: Batch, console: Console | None = None) -> None:
        self._batch = batch
        self._console = console or Console()
        self._rows: dict[UUID, Row] = {}
        self._titles: dict[UUID, str] = {}
        self._ended: set[UUID] = set()
        self._began = timezone.now()
        self._live = Live(
            console=self._console, refresh_per_second=8, get_renderable=self._paint, transient=True
        )

    def __enter__(self) -> "LivePrinter":
        for run in self._batch.runs.only("id", "task_id", "title", "status", "superseded"):
            self._titles[run.id] = one_line(run.title)
            if not run.superseded and run.status not in LIVE:
                self._ended.add(run.task_id or run.id)
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, event: Event) -> None:
        if event.run_id is None:
            self._show_batch(event)
        elif event.type == types.RUN_STARTED:
            self._titles[event.run_id] = one_line(event.payload["title"])
            self._ended.discard(event.task_id or event.run_id)
            self._row(event.run_id, event)
        elif event.type == types.RUN_STAGE:
            self._row(event.run_id, event).stage = event.payload["stage"]
        elif event.type == types.RUN_OUTPUT:
            lines = event.payload["text"].strip().splitlines()
            self._row(event.run_id, event).line = one_line(lines[-1]) if lines else ""
        elif event.type in ENDS:
            self._show_end(event.run_id, ENDS[event.type], event)
        elif event.type == types.RUN_RETRY:
            self._ended.discard(event.task_id or event.run_id)

    def _row(self, run_id: UUID, event: Event) -> Row:
        return self._rows.setdefault(run_id, Row(self._title(run_id), event.created_at))

    def _title(self, run_id: UUID) -> str:
        return self._titles.get(run_id, run_id.hex[:8])

    def _show_batch(self, event: Event) -> None:
        text = describe(event)
        if text and event.type not in types.FINAL_BATCH_EVENTS:
            self._scroll(Text(f"  {text}", style="bright_black"))

    def _show_end(self, run_id: UUID, status: str, event: Event) -> None:
        row = self._rows.pop(run_id, None)
        self._ended.add(event.task_id or run_id)
        line = Text(f"{sign(status)} ", style=colour(status))
        line.append(shorten(self._title(run_id), self._title_width()), style="bold")
        line.append(f"  {status.lower()}", style=colour(status))
        if row:
            took = (event.created_at - row.since).total_seconds()
            line.append(f"  {seconds(took)}", style="bright_black")
        if status != "COMPLETED" and event.payload.get("message"):
            line.append(f"  {one_line(event.payload['message'])}", style="bright_black")
        self._scroll(line)

    def _scroll(self, line: Text) -> None:
        """The table at the end says in full what one line of the terminal does not hold."""
        self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def _paint(self) -> Group:
        return Group(self._head(), self._body())

    def _head(self) -> Table:
        total = max(1, self._batch.total)
        ended = min(len(self._ended), total)
        head = _lines(None, None, None, None)
        head.add_row(
            Text(f"batch {self._batch.short_id}", style="bold"),
            ProgressBar(total=total, completed=ended, width=self._half(BAR_WIDTH)),
            Text(f"{ended} of {total} ended, {len(self._rows)} running"),
            self._since(self._began),
        )
        return head

    def _body(self) -> Table:
        widths = (1, self._title_width(), STAGE_WIDTH, TIME_WIDTH)
        body = _lines(*widths, max(0, self._console.width - sum(widths) - GAP * len(widths)))
        # A copy: the events change the rows while the screen is drawn.
        for row in list(self._rows.values()):
            body.add_row(
                Text("◐", style="blue"),
                Text(row.title),
                Text(row.stage, style="cyan"),
                self._since(row.since),
                Text(row.line, style="bright_black"),
            )
        return body

    def _title_width(self) -> int:
        return self._half(TITLE_WIDTH)

    def _half(self, width: int) -> int:
        return width if self._console.width >= NARROW else width // 2

    def _since(self, began: datetime) -> Text:
        took = (timezone.now() - began).total_seconds()
        return Text(seconds(max(0.0, took)), style="bright_black")


def _lines(*widths: int | None) -> Table:
    """Columns that are cut, not wrapped: one line stays one line. None is as wide as needed."""
    grid = Table.grid(padding=(0, GAP))
    for width in widths:
        grid.add_column(no_wrap=True, overflow="ellipsis", width=width)
    return grid
