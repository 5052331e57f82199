import argparse
from decimal import Decimal
from typing import Any

from batches import lifecycle
from batches.errors import WorkspaceBusy
from batches.follow import follow, is_over, last_seq
from batches.foreground import Interrupts
from batches.models import Batch
from batches.models.batch import BatchStatus, StopMode
from batches.owner import new_owner
from batches.resuming import resume
from batches.terminal.arguments import dollars
from batches.terminal.command import BatchCommand
from batches.terminal.report import exit_code, report_object
from tasks.console import EXIT_BUSY, Verbs, at_least
from tasks.errors import ValidationFailed
from tasks.lookup import by_prefix, workspace_named
from tasks.models import Task
from tasks.tables import table
from tasks.text import clip

MOST_SHOWN = 1000
MOST_SEQ = 2**63 - 1
NAME, WHY = 3, 5


class Command(BatchCommand):
    help = "See and steer batches."
    exit_codes = {WorkspaceBusy: EXIT_BUSY}
    epilog = "exit codes of resume, retry and follow: those of runbatch"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        _add_list(verbs)
        _add_one(verbs, "show", "Show its tasks and how each ended")
        for name, sentence in {
            "stop": "Finish what runs, start nothing more",
            "cancel": "End what runs; work so far is kept",
        }.items():
            ending = _add_one(verbs, name, sentence)
            ending.add_argument("--reason", default="", help="kept with the batch")
        resuming = _add_one(verbs, "resume", "Run what did not complete, with the same options")
        resuming.add_argument("--force", action="store_true", help="run all its tasks")
        resuming.add_argument(
            "--budget", type=dollars, metavar="DOLLARS", help="instead of the one it had"
        )
        retrying = _add_one(verbs, "retry", "Run some of its tasks again")
        retrying.add_argument("tasks", nargs="+", metavar="TASK", help="ids or their beginnings")
        for again in (resuming, retrying):
            again.add_argument(
                "--detach", action="store_true", help="leave it to a worker, print the batch's id"
            )
        following = _add_one(verbs, "follow", "Show what happens in it, to its end")
        following.add_argument(
            "--after",
            type=at_least(0, MOST_SEQ),
            default=0,
            metavar="SEQ",
            help="only what follows this event, default: from its beginning",
        )

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
        for batch in rows[:limit]:
            done = f"{batch.completed}/{batch.total}"
            created = f"{batch.created_at:%Y-%m-%d %H:%M}"
            name, why = batch.workspace.name, clip(batch.message, 200)
            lines.append([batch.short_id, batch.status, done, name, created, why])
        for line in table(lines, right=(2,), yielding=(WHY, NAME), width=self.width()):
            self.say(line)

    def _show(self, batch: Batch, *, json: bool, **_: Any) -> None:
        self.report(batch, as_json=json)

    def _stop(self, batch: Batch, *, reason: str, json: bool, **_: Any) -> None:
        batch = lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.STOP, reason=reason)
        what = f"is {batch.status}: what runs is finished, no more starts"
        self._told(batch, f"batch {batch.short_id} {what}", as_json=json)

    def _cancel(self, batch: Batch, *, reason: str, json: bool, **_: Any) -> None:
        batch = lifecycle.cancel_batch(batch_id=batch.id, mode=StopMode.CANCEL, reason=reason)
        what = f"is {batch.status}: work done so far is kept"
        self._told(batch, f"batch {batch.short_id} {what}", as_json=json)

    def _resume(
        self,
        batch: Batch,
        *,
        force: bool,
        json: bool,
        detach: bool,
        budget: Decimal | None,
        **_: Any,
    ) -> int:
        caps = None if budget is None else {"budget": budget}
        return self._again(batch, as_json=json, detach=detach, force=force, caps=caps)

    def _retry(self, batch: Batch, *, tasks: list[str], json: bool, detach: bool, **_: Any) -> int:
        rows = Task.objects.filter(workspace=batch.workspace)
        ids = [by_prefix(rows, text, noun="task").id for text in tasks]
        return self._again(batch, as_json=json, detach=detach, only=ids)

    def _again(self, batch: Batch, *, as_json: bool, detach: bool, **which: Any) -> int:
        if detach:
            batch = resume(batch=batch, by="command line", **which)
            self._told(batch, str(batch.id), as_json=as_json)
            return 0
        after, owner = last_seq(batch.id), new_owner()
        with Interrupts() as interrupts:
            batch = resume(batch=batch, by="command line", send=False, reserve_for=owner, **which)
            return self.conduct(
                batch, interrupts=interrupts, after=after, owner=owner, as_json=as_json
            )

    def _follow(self, batch: Batch, *, after: int, json: bool, **_: Any) -> int:
        with self.printer(batch, as_json=json) as printer:
            for event in follow(batch, after=after, ended=lambda: is_over(batch.id)):
                printer.show(event)
        batch.refresh_from_db()
        self.report(batch, as_json=json)
        return exit_code(batch)

    def _told(self, batch: Batch, text: str, *, as_json: bool) -> None:
        if as_json:
            self.emit({"result": report_object(batch)})
        else:
            self.say(text)


def _add_list(verbs: Verbs) -> None:
    listing = verbs.add("list", "List batches, newest first")
    listing.add_argument("--workspace", "-w", metavar="NAME", help="of this workspace only")
    listing.add_argument("--status", help=", ".join(BatchStatus.values))
    listing.add_argument(
        "--limit",
        type=at_least(1, MOST_SHOWN),
        default=20,
        metavar="N",
        help="how many, default: 20",
    )


def _add_one(verbs: Verbs, name: str, sentence: str) -> argparse.ArgumentParser:
    parser = verbs.add(name, sentence)
    parser.add_argument("batch", metavar="BATCH", help="its id or the beginning of it")
    parser.add_argument("--json", action="store_true", help="as JSON, one object a line")
    return parser


def _status(text: str) -> str:
    if text.upper() not in BatchStatus.values:
        known = ", ".join(BatchStatus.values)
        raise ValidationFailed(f"--status: {clip(text, 60)!r} is none; there are: {known}")
    return text.upper()
