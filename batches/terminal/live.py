"""Bars that move while a person looks: one for the batch, a line for each running task."""

import time
from uuid import UUID

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from batches.models import Batch
from batches.terminal.plain import describe
from batches.terminal.states import colour, seconds, sign
from tasks.events import types
from tasks.models import Event
from tasks.text import clip

ENDS = {
    types.RUN_COMPLETED: "COMPLETED",
    types.RUN_FAILED: "FAILED",
    types.RUN_BLOCKED: "BLOCKED",
    types.RUN_CANCELLED: "CANCELLED",
    types.RUN_LOST: "LOST",
    types.RUN_SKIPPED: "SKIPPED",
}
TITLE_WIDTH = 36


class Row:
    def __init__(self, title: str) -> None:
        self.title = title
        self.stage = ""
        self.line = ""
        self.since = time.monotonic()


class LivePrinter:
    """Ended tasks scroll away as lines above the bars."""

    def __init__(self, batch: Batch, console: Console) -> None:
        self._batch = batch
        self._console = console
        self._rows: dict[UUID, Row] = {}
        self._titles: dict[UUID, str] = {}
        self._ended = 0
        self._began = time.monotonic()
        self._live = Live(
            console=console, refresh_per_second=8, get_renderable=self._paint, transient=True
        )

    def __enter__(self) -> "LivePrinter":
        for run in self._batch.runs.only("id", "title", "status", "superseded"):
            self._titles[run.id] = run.title
            if not run.superseded and run.status not in ("QUEUED", "RUNNING"):
                self._ended += 1
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, event: Event) -> None:
        if event.run_id is None:
            self._show_batch(event)
        elif event.type == types.RUN_STARTED:
            self._titles[event.run_id] = event.payload["title"]
            self._rows[event.run_id] = Row(event.payload["title"])
        elif event.type == types.RUN_STAGE:
            self._row(event.run_id).stage = event.payload["stage"]
        elif event.type == types.RUN_OUTPUT:
            lines = event.payload["text"].strip().splitlines()
            self._row(event.run_id).line = lines[-1] if lines else ""
        elif event.type in ENDS:
            self._show_end(event.run_id, ENDS[event.type], event)
        elif event.type == types.RUN_RETRY:
            self._ended -= 1

    def _row(self, run_id: UUID) -> Row:
        return self._rows.setdefault(run_id, Row(self._titles.get(run_id, run_id.hex[:8])))

    def _show_batch(self, event: Event) -> None:
        text = describe(event)
        if text and event.type not in types.FINAL_BATCH_EVENTS:
            self._console.print(Text(f"  {text}", style="bright_black"))

    def _show_end(self, run_id: UUID, status: str, event: Event) -> None:
        row = self._rows.pop(run_id, None)
        self._ended += 1
        took = seconds(time.monotonic() - row.since) if row else ""
        line = Text(f"{sign(status)} ", style=colour(status))
        line.append(self._titles.get(run_id, run_id.hex[:8]), style="bold")
        line.append(f"  {status.lower()}", style=colour(status))
        if took:
            line.append(f"  {took}", style="bright_black")
        if status != "COMPLETED" and event.payload.get("message"):
            line.append(f"  {clip(event.payload['message'], 160)}", style="bright_black")
        self._console.print(line)

    def _paint(self) -> Group:
        total = max(1, self._batch.total)
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(f"batch {self._batch.short_id}", style="bold"),
            ProgressBar(total=total, completed=min(self._ended, total), width=30),
            Text(f"{min(self._ended, total)} of {total} done, {len(self._rows)} running"),
            Text(seconds(time.monotonic() - self._began), style="bright_black"),
        )
        body = Table.grid(padding=(0, 2))
        for row in self._rows.values():
            body.add_row(
                Text("◐", style="blue"),
                Text(clip(row.title, TITLE_WIDTH)),
                Text(row.stage, style="cyan"),
                Text(seconds(time.monotonic() - row.since), style="bright_black"),
                Text(clip(row.line, 60), style="bright_black"),
            )
        return Group(head, body)
