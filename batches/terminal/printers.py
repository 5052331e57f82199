"""Which printer fits where the output goes."""

from rich.console import Console

from batches.foreground import Printer
from batches.models import Batch
from batches.terminal.live import LivePrinter
from batches.terminal.plain import JsonPrinter, PlainPrinter, Write


def make_printer(batch: Batch, write: Write, *, as_json: bool, terminal: Console | None) -> Printer:
    """Bars on a terminal, lines elsewhere, JSON where asked for."""
    if as_json:
        return JsonPrinter(batch, write)
    if terminal is not None:
        return LivePrinter(batch, terminal)
    return PlainPrinter(batch, write)
