"""What runbatch and batch share: progress while a batch runs, and what it came to."""

import json

from batches.foreground import Interrupts, Printer, run_here
from batches.models import Batch
from batches.terminal.plain import JsonPrinter, PlainPrinter
from batches.terminal.report import exit_code, report_lines, report_object
from tasks.console import ConsoleCommand


class BatchCommand(ConsoleCommand):
    def conduct(
        self, batch: Batch, *, interrupts: Interrupts, after: int, owner: str = "", as_json: bool
    ) -> int:
        """To the end, in this process; gives the exit code."""
        printer = self.printer(batch, as_json=as_json)
        run_here(batch, printer, interrupts=interrupts, after=after, owner=owner)
        if not as_json and not self.stdout.isatty():
            self.say()
        self.report(batch, as_json=as_json)
        return exit_code(batch, interrupted=interrupts.asked())

    def printer(self, batch: Batch, *, as_json: bool) -> Printer:
        """Bars on a terminal, lines elsewhere, JSON where asked for."""
        if as_json:
            return JsonPrinter(self.hand_out)
        if self.stdout.isatty():
            # Only a person at a terminal waits for this import.
            from batches.terminal.live import LivePrinter

            return LivePrinter(batch)
        return PlainPrinter(batch, self.say)

    def report(self, batch: Batch, *, as_json: bool) -> None:
        if as_json:
            self.emit({"result": report_object(batch)})
            return
        for line in report_lines(batch, width=self.width()):
            self.say(line)

    def emit(self, value: object) -> None:
        """One line of JSON, in ASCII, so that no locale can spoil it."""
        self.hand_out(json.dumps(value))
