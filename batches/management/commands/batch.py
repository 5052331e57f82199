import argparse
import json
from typing import Any

from rich.console import Console

from batches import lifecycle
from batches.errors import WorkspaceBusy
from batches.follow import follow, last_seq
from batches.foreground import Printer, run_here
from batches.management.commands.runbatch import exit_code
from batches.models import Batch
from batches.models.batch import BatchStatus, StopMode
from batches.owner import new_owner
from batches.resuming import resume
from batches.terminal.printers import make_printer
from batches.terminal.report import report_lines, report_object
from tasks.console import EXIT_BUSY, ConsoleCommand, table
from tasks.errors import ValidationFailed
from tasks.lookup import by_prefix, workspace_named
from tasks.models import Task

VERBS = "list|show|stop|cancel|resume|retry|follow"


class Command(ConsoleCommand):
    help = "See and steer batches."
    exit_codes = {WorkspaceBusy: EXIT_BUSY}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar=VERBS)
        listing = verbs.add_parser("list", help="newest first")
        listing.add_argument("--workspace", "-w")
        listing.add_argument("--status", help=", ".join(BatchStatus.values))
        listing.add_argument("--limit", type=int, default=20)
        one = {
            "show": "its tasks and how each ended",
            "stop": "finish what runs, start nothing more",
            "cancel": "end what runs; work so far is kept",
            "resume": "run what did not complete, with the recorded settings",
            "retry": "run some of its tasks again",
            "follow": "show its events as they happen",
        }
        parsers = {name: verbs.add_parser(name, help=text) for name, text in one.items()}
        for sub in parsers.values():
            sub.add_argument("batch", help="id or unique prefix")
            sub.add_argument("--json", action="store_true")
        parsers["resume"].add_argument("--force", action="store_true", help="run all its tasks")
        parsers["retry"].add_argument("tasks", nargs="+", metavar="task")
        for name in ("resume", "retry"):
            parsers[name].add_argument(
                "--detach", action="store_true", help="leave it to the worker"
            )
        for name in ("stop", "cancel"):
            parsers[name].add_argument("--reason", default="")

    def run(self, *, verb: str, **options: Any) -> int | None:
        if verb == "list":
            self._list(**options)
            return 0
        batch = by_prefix(Batch.objects.all(), options.pop("batch"), noun="batch")
        code: int | None = getattr(self, f"_{verb}")(batch, **options)
        return code

    def _list(self, *, workspace: str | None, status: str | None, limit: int, **_: Any) -> None:
        rows = Batch.objects.select_related("workspace")
        if workspace:
            rows = rows.filter(workspace=workspace_named(workspace))
        if status:
            rows = rows.filter(status=_status(status))
        lines = [["ID", "STATUS", "DONE", "WORKSPACE", "CREATED", "WHY"]]
        for batch in rows[: max(0, limit)]:
            done = f"{batch.completed}/{batch.total}"
            created = f"{batch.created_at:%Y-%m-%d %H:%M}"
            name = batch.workspace.name
            lines.append([batch.short_id, batch.status, done, name, created, batch.message])
        for line in table(lines, right=(2,)):
            self.say(line)

    def _show(self, batch: Batch, *, json: bool, **_: Any) -> None:
        self._report(batch, as_json=json)

    def _stop(self, batch: Batch, *, reason: str, **_: Any) -> None:
        batch = lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.STOP, reason=reason)
        self.say(f"batch {batch.short_id} is {batch.status}: what runs is finished, no more starts")

    def _cancel(self, batch: Batch, *, reason: str, **_: Any) -> None:
        batch = lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.CANCEL, reason=reason)
        self.say(f"batch {batch.short_id} is {batch.status}: work done so far is kept")

    def _resume(self, batch: Batch, *, force: bool, **options: Any) -> int:
        return self._again(batch, force=force, **options)

    def _retry(self, batch: Batch, *, tasks: list[str], **options: Any) -> int:
        rows = Task.objects.filter(workspace=batch.workspace)
        ids = [by_prefix(rows, text, noun="task").id for text in tasks]
        return self._again(batch, only=ids, **options)

    def _again(self, batch: Batch, *, json: bool, detach: bool, **how: Any) -> int:
        cursor = last_seq(batch.id)
        how = {name: how[name] for name in ("force", "only") if name in how}
        owner = "" if detach else new_owner()
        batch = resume(batch=batch, by="command line", send=detach, reserve_for=owner, **how)
        if detach:
            self.say(str(batch.id))
            return 0
        printer = self._printer(batch, as_json=json)
        interrupted = run_here(batch, printer, after=cursor, owner=owner)
        self._report(batch, as_json=json)
        return exit_code(batch, interrupted=interrupted)

    def _follow(self, batch: Batch, *, json: bool, **_: Any) -> int:
        with self._printer(batch, as_json=json) as printer:
            for event in follow(batch):
                printer.show(event)
        batch.refresh_from_db()
        self._report(batch, as_json=json)
        return exit_code(batch, interrupted=False)

    def _printer(self, batch: Batch, *, as_json: bool) -> Printer:
        terminal = Console() if self.stdout.isatty() else None
        return make_printer(batch, self.stdout.write, as_json=as_json, terminal=terminal)

    def _report(self, batch: Batch, *, as_json: bool) -> None:
        if as_json:
            self.say(json.dumps({"result": report_object(batch)}, ensure_ascii=False))
            return
        for line in report_lines(batch):
            self.say(line)


def _status(text: str) -> str:
    if text.upper() not in BatchStatus.values:
        raise ValidationFailed(f"{text!r} is no status; there are: {', '.join(BatchStatus.values)}")
    return text.upper()
