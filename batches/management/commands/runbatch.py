import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from batches import lifecycle
from batches.admission import Admission, admit
from batches.errors import NothingToRun, WorkspaceBusy
from batches.follow import last_seq
from batches.foreground import Interrupts
from batches.models import Batch
from batches.owner import new_owner
from batches.recovery import free_dead_leases, unowned
from batches.terminal.arguments import add_batch_options, batch_options
from batches.terminal.command import BatchCommand
from batches.terminal.dry_run import dry_run_lines
from batches.terminal.report import report_object
from tasks.console import EXIT_BUSY, EXIT_INTERRUPTED
from tasks.errors import ValidationFailed
from tasks.importing import read_file
from tasks.lookup import by_prefix, workspace_named
from tasks.models import Task, Workspace
from tasks.models.task import FINISHED, TaskStatus
from tasks.planning.importing import TaskDraft
from tasks.registry import import_drafts

Drafts = list[TaskDraft] | None


class Command(BatchCommand):
    help = "Run tasks of a workspace as one batch, here and now."
    epilog = (
        "exit codes:\n"
        "  0 all completed, or nothing to do   1 not all completed\n"
        "  2 nothing started: wrong call or settings\n"
        "  3 nothing started: another batch is at work here   4 cancelled   130 interrupted\n\n"
        "examples:\n"
        "  manage.py runbatch -w shop --all-ready --engine fixer\n"
        "  manage.py runbatch -w shop --tasks-file tasks.yaml --dry-run \\\n"
        '      --command "my-agent --file {prompt_file}"\n\n'
        "docs/runbatch.md has more."
    )
    exit_codes = {WorkspaceBusy: EXIT_BUSY}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        choice = "(TASK ... | --all-ready | --tasks-file FILE)"
        parser.usage = f"{parser.prog} -w WORKSPACE {choice} [options]"
        parser.add_argument(
            "--workspace", "-w", required=True, help="name, path or id; manage.py workspace list"
        )
        what = parser.add_argument_group("what to run, one of")
        what.add_argument(
            "tasks", nargs="*", metavar="TASK", help="ids or their beginnings; manage.py task list"
        )
        what.add_argument("--all-ready", action="store_true", help="every READY task")
        what.add_argument(
            "--tasks-file",
            type=Path,
            metavar="FILE",
            help="the tasks of this YAML, JSON or Markdown file, imported first",
        )
        add_batch_options(parser)
        out = parser.add_argument_group("output")
        out.add_argument(
            "--dry-run", action="store_true", help="check everything, show the plan, write nothing"
        )
        out.add_argument("--json", action="store_true", help="events and result as JSON lines")
        out.add_argument(
            "--detach", action="store_true", help="leave it to a worker, print the batch's id"
        )

    def run(self, **options: Any) -> int:
        """Nothing to run is no failure where nothing was named: a night without work is quiet."""
        try:
            return self._run_batch(**options)
        except NothingToRun as nothing:
            if options["tasks"]:
                raise
            self.stderr.write(f"nothing to do: {nothing.message}")
            return 0

    def _run_batch(self, **options: Any) -> int:
        _check_choice(**options)
        workspace = workspace_named(options.pop("workspace"))
        admission = admit(workspace=workspace, options=batch_options(workspace, **options))
        if options["dry_run"]:
            return self._show_plan(workspace, admission, **options)
        if options["detach"]:
            batch = _create(workspace, admission, _drafts(workspace, **options), **options)
            return self._name(batch, as_json=options["json"])
        with Interrupts() as interrupts:
            return self._run_here(workspace, admission, interrupts, **options)

    # -- steps -----------------------------------------------------------------------------------

    def _show_plan(self, workspace: Workspace, admission: Admission, **options: Any) -> int:
        """The batch is prepared like a real one, and taken back."""
        drafts = _drafts(workspace, **options)
        with transaction.atomic():
            chosen = _choose(workspace, admission, drafts, **options)
            lines = list(dry_run_lines(chosen, chosen.check(), as_json=options["json"]))
            transaction.set_rollback(True)
        for line in lines:
            self.say(line)
        return 0

    def _name(self, batch: Batch, *, as_json: bool) -> int:
        if as_json:
            self.emit({"result": report_object(batch)})
        else:
            self.say(str(batch.id))
        return 0

    def _run_here(
        self,
        workspace: Workspace,
        admission: Admission,
        interrupts: Interrupts,
        **options: Any,
    ) -> int:
        as_json = options["json"]
        drafts = _drafts(workspace, **options)
        codes = self._finish_abandoned(workspace, interrupts, as_json=as_json)
        if codes:
            # It may have taken hours: repository and engine are looked at anew.
            admission = admit(workspace=workspace, options=admission.options)
        if interrupts.asked():
            return EXIT_INTERRUPTED
        owner = new_owner()
        try:
            batch = _create(workspace, admission, drafts, owner=owner, **options)
        except NothingToRun:
            if not codes:
                raise
            return codes[-1]
        return self.conduct(batch, interrupts=interrupts, after=0, owner=owner, as_json=as_json)

    def _finish_abandoned(
        self, workspace: Workspace, interrupts: Interrupts, *, as_json: bool
    ) -> list[int]:
        """A batch whose process was killed is finished first; what still lives is adopted.

        Gives the exit codes.
        """
        free_dead_leases(workspace.id)
        codes = []
        for batch in unowned(workspace.id):
            if not as_json:
                self.say(f"finishing batch {batch.short_id}, which an earlier process left")
            after = last_seq(batch.id)
            code = self.conduct(batch, interrupts=interrupts, after=after, as_json=as_json)
            codes.append(code)
            if not as_json:
                self.say()
        return codes


def _check_choice(*, tasks: list[str], all_ready: bool, tasks_file: Path | None, **_: Any) -> None:
    if [bool(tasks), all_ready, tasks_file is not None].count(True) != 1:
        raise ValidationFailed(
            "say what to run: task ids, --all-ready or --tasks-file (one of them)"
        )


def _drafts(workspace: Workspace, *, tasks_file: Path | None, **_: Any) -> Drafts:
    return read_file(workspace=workspace, path=tasks_file) if tasks_file else None


def _create(
    workspace: Workspace,
    admission: Admission,
    drafts: Drafts,
    *,
    owner: str = "",
    detach: bool,
    **options: Any,
) -> Batch:
    """Import and batch are one transaction: a batch that is refused leaves no task behind."""
    lifecycle.refuse_when_busy(workspace.id)
    with transaction.atomic():
        return lifecycle.create_batch(
            admission=_choose(workspace, admission, drafts, **options),
            origin="runbatch",
            send=detach,
            reserve_for=owner,
        )


def _choose(
    workspace: Workspace, admission: Admission, drafts: Drafts, *, tasks: list[str], **_: Any
) -> Admission:
    """Which tasks; for a file, after they are written."""
    if drafts is not None:
        return replace(admission, task_ids=_imported(workspace, drafts))
    if tasks:
        rows = Task.objects.filter(workspace=workspace)
        ids = [by_prefix(rows, text, noun="task").id for text in tasks]
        return replace(admission, task_ids=ids)
    return admission


def _imported(workspace: Workspace, drafts: list[TaskDraft]) -> list[UUID]:
    tasks = import_drafts(workspace=workspace, drafts=drafts, status=TaskStatus.READY, update=True)
    open_tasks = [task.id for task in tasks if task.status not in FINISHED]
    if not open_tasks:
        raise NothingToRun("the file has no task that is not done already")
    return open_tasks
