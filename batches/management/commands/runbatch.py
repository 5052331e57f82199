import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from batches import lifecycle
from batches.admission import Admission, admit, engine_options
from batches.engines.template import CommandError as BadCommand
from batches.engines.template import parse_command
from batches.errors import InvalidOptions, WorkspaceBusy
from batches.follow import last_seq
from batches.foreground import Printer, run_here
from batches.gates import catalog
from batches.models import Batch, CommandEngine
from batches.models.batch import BatchStatus, Isolation, Land, OnFailure, Strategy
from batches.options import BatchOptions
from batches.owner import new_owner
from batches.recovery import free_dead_leases, unowned
from batches.terminal.dry_run import dry_run_lines
from batches.terminal.printers import make_printer
from batches.terminal.report import report_lines, report_object
from tasks.console import (
    EXIT_BUSY,
    EXIT_CANCELLED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    ConsoleCommand,
)
from tasks.errors import ValidationFailed
from tasks.importing import read_file
from tasks.lookup import by_prefix, workspace_named
from tasks.models import Task, Workspace
from tasks.models.task import TaskStatus
from tasks.registry import import_drafts

EXITS = """exit codes:
  0 completed   1 not all completed   2 usage   3 workspace busy   4 cancelled   130 interrupted"""


class Command(ConsoleCommand):
    help = f"Run tasks of a workspace as one batch, here and now.\n\n{EXITS}"
    exit_codes = {WorkspaceBusy: EXIT_BUSY}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        what = parser.add_argument_group("what")
        what.add_argument("tasks", nargs="*", metavar="task", help="ids or unique prefixes")
        what.add_argument("--workspace", "-w", required=True, help="name, path or id")
        what.add_argument("--all-ready", action="store_true", help="every READY task")
        what.add_argument("--tasks-file", type=Path, help="import this file and run its tasks")
        add_batch_options(parser.add_argument_group("how"))
        out = parser.add_argument_group("output")
        out.add_argument("--dry-run", action="store_true", help="show the plan, write nothing")
        out.add_argument("--json", action="store_true", help="events and result as JSON lines")
        out.add_argument("--detach", action="store_true", help="leave it to the worker")

    def run(self, **options: Any) -> int:
        workspace = workspace_named(options.pop("workspace"))
        chosen = batch_options(**options)
        _check_choice(**options)
        if options["dry_run"]:
            return self._show_plan(workspace, chosen, **options)
        if not options["detach"]:
            interrupted = self._finish_abandoned(workspace, as_json=options["json"])
            if interrupted:
                return EXIT_INTERRUPTED
        owner = "" if options["detach"] else new_owner()
        batch = self._create(workspace, chosen, owner, **options)
        if options["detach"]:
            self.say(json.dumps(report_object(batch)) if options["json"] else str(batch.id))
            return 0
        return self._conduct(batch, owner, as_json=options["json"])

    # -- steps -----------------------------------------------------------------------------------

    def _show_plan(self, workspace: Workspace, chosen: BatchOptions, **options: Any) -> int:
        drafts = None
        if options["tasks_file"]:
            drafts = read_file(workspace=workspace, path=options["tasks_file"])
        admission = _admission(workspace, chosen, **options)
        for line in dry_run_lines(admission, drafts, as_json=options["json"]):
            self.say(line)
        return 0

    def _finish_abandoned(self, workspace: Workspace, *, as_json: bool) -> bool:
        """A batch whose process was killed is finished first; what still lives is adopted."""
        free_dead_leases(workspace.id)
        for batch in unowned(workspace.id):
            if not as_json:
                self.say(f"finishing batch {batch.short_id}, which an earlier process left")
            if run_here(batch, self._printer(batch, as_json=as_json), after=last_seq(batch.id)):
                return True
            self._report(batch, as_json=as_json)
        return False

    def _create(
        self, workspace: Workspace, chosen: BatchOptions, owner: str, **options: Any
    ) -> Batch:
        lifecycle.refuse_when_busy(workspace.id)
        task_ids = None
        if options["tasks_file"]:
            admit(workspace=workspace, options=chosen)
            drafts = read_file(workspace=workspace, path=options["tasks_file"])
            tasks = import_drafts(
                workspace=workspace, drafts=drafts, status=TaskStatus.READY, update=True
            )
            runnable = [task for task in tasks if task.status != TaskStatus.DONE]
            task_ids = [task.id for task in runnable]
        admission = _admission(workspace, chosen, **options)
        if task_ids is not None:
            admission = admit(workspace=workspace, options=chosen, task_ids=task_ids)
        return lifecycle.create_batch(
            admission=admission,
            origin="runbatch",
            send=options["detach"],
            reserve_for=owner,
        )

    def _conduct(self, batch: Batch, owner: str, *, as_json: bool) -> int:
        printer = self._printer(batch, as_json=as_json)
        interrupted = run_here(batch, printer, after=0, owner=owner)
        self._report(batch, as_json=as_json)
        return exit_code(batch, interrupted=interrupted)

    def _printer(self, batch: Batch, *, as_json: bool) -> Printer:
        return make_printer(batch, self.stdout.write, as_json=as_json, terminal=self._terminal())

    def _terminal(self) -> Console | None:
        return Console() if self.stdout.isatty() else None

    def _report(self, batch: Batch, *, as_json: bool) -> None:
        if as_json:
            self.say(json.dumps({"result": report_object(batch)}, ensure_ascii=False))
            return
        self.say()
        for line in report_lines(batch):
            self.say(line)


def add_batch_options(group: Any) -> None:
    defaults = BatchOptions(engine="")
    group.add_argument("--engine", default="", help="name of an engine (manage.py engine list)")
    group.add_argument("--command", default="", help="a command line, run without a shell")
    group.add_argument(
        "--prompt-via", choices=CommandEngine.PromptVia.values, help="how --command gets its prompt"
    )
    group.add_argument("--pass-env", action="append", default=[], metavar="NAME")
    group.add_argument("--strategy", choices=Strategy.values, default=defaults.strategy)
    group.add_argument("--max-parallel", type=int, default=defaults.max_parallel)
    group.add_argument("--on-failure", choices=OnFailure.values, default=defaults.on_failure)
    group.add_argument("--max-retries", type=int, default=defaults.max_retries)
    group.add_argument("--isolation", choices=Isolation.values, default=defaults.isolation)
    group.add_argument("--gates", default="auto", help="auto, none, or names with commas")
    group.add_argument(
        "--timeout", type=int, default=defaults.timeout_s, help="seconds per agent, 0 is none"
    )
    group.add_argument(
        "--stall-timeout", type=int, default=defaults.stall_timeout_s, help="seconds of silence"
    )
    group.add_argument("--land", choices=Land.values, default=defaults.land)


def batch_options(**options: Any) -> BatchOptions:
    """Raises InvalidOptions with one sentence."""
    name, engine = _engine(**options)
    try:
        gates = catalog.parse_policy(options["gates"])
    except catalog.GateError as error:
        raise InvalidOptions(f"--gates: {error}") from error
    return BatchOptions(
        strategy=options["strategy"],
        max_parallel=options["max_parallel"],
        on_failure=options["on_failure"],
        max_retries=options["max_retries"],
        engine=name,
        engine_options=engine,
        isolation=options["isolation"],
        gates=gates,
        timeout_s=options["timeout"],
        stall_timeout_s=options["stall_timeout"],
        land=options["land"],
    )


def exit_code(batch: Batch, *, interrupted: bool) -> int:
    if interrupted:
        return EXIT_INTERRUPTED
    codes = {BatchStatus.COMPLETED: 0, BatchStatus.CANCELLED: EXIT_CANCELLED}
    return codes.get(BatchStatus(batch.status), EXIT_FAILED)


def _engine(*, engine: str, command: str, prompt_via: str | None, pass_env: list[str], **_: Any):  # type: ignore[no-untyped-def]
    if command:
        if engine not in ("", "command"):
            raise InvalidOptions("--engine and --command exclude each other")
        try:
            argv = parse_command(command)
        except BadCommand as error:
            raise InvalidOptions(f"--command: {error}") from error
        return "command", {"argv": argv, "prompt_via": prompt_via or "file", "pass_env": pass_env}
    name = engine or _only_engine()
    if name == "command":
        raise InvalidOptions('--engine command needs --command "..."')
    return name, engine_options(name)


def _only_engine() -> str:
    names = list(CommandEngine.objects.filter(enabled=True).values_list("name", flat=True)[:2])
    if len(names) == 1:
        return names[0]
    raise InvalidOptions(
        'say which agent: --engine NAME (manage.py engine list) or --command "..."'
    )


def _check_choice(*, tasks: list[str], all_ready: bool, tasks_file: Path | None, **_: Any) -> None:
    given = [bool(tasks), all_ready, tasks_file is not None]
    if sum(given) != 1:
        raise ValidationFailed(
            "say what to run: task ids, --all-ready or --tasks-file (one of them)"
        )


def _admission(
    workspace: Workspace, chosen: BatchOptions, *, tasks: list[str], **_: Any
) -> Admission:
    ids = None
    if tasks:
        rows = Task.objects.filter(workspace=workspace)
        ids = [by_prefix(rows, text, noun="task").id for text in tasks]
    return admit(workspace=workspace, options=chosen, task_ids=ids)
