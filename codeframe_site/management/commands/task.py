import argparse
import sys
from pathlib import Path
from typing import Any

from batches.deletion import delete_task
from tasks.console import ConsoleCommand, table
from tasks.errors import ValidationFailed
from tasks.importing import import_file
from tasks.lifecycle import move_task
from tasks.lookup import by_prefix, workspace_named
from tasks.models import Task, Workspace
from tasks.models.task import TaskStatus
from tasks.planning.importing import TaskDraft
from tasks.registry import create_task

STATUSES = ", ".join(TaskStatus.values)


class Command(ConsoleCommand):
    help = "Add, import, show and change the tasks of a workspace."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = parser.add_subparsers(
            dest="verb", required=True, metavar="add|list|show|import|set-status|delete"
        )
        _arguments_of_add(verbs.add_parser("add", help="add one task"))
        listing = verbs.add_parser("list", help="list tasks")
        listing.add_argument("--workspace", "-w", required=True)
        listing.add_argument("--status", help=STATUSES)
        show = verbs.add_parser("show", help="show one task")
        show.add_argument("task", help="id or unique prefix")
        importing = verbs.add_parser("import", help="import a YAML, JSON or Markdown file")
        importing.add_argument("file", help="docs/tasks-files.md shows the formats")
        importing.add_argument("--workspace", "-w", required=True)
        importing.add_argument("--ready", action="store_true", help="READY instead of BACKLOG")
        importing.add_argument(
            "--update", action="store_true", help="take over unfinished tasks of the same name"
        )
        moving = verbs.add_parser("set-status", help="move tasks")
        moving.add_argument("status", help=STATUSES)
        moving.add_argument("tasks", nargs="+", metavar="task", help="id or unique prefix")
        deleting = verbs.add_parser("delete", help="delete tasks")
        deleting.add_argument("tasks", nargs="+", metavar="task", help="id or unique prefix")

    def run(self, *, verb: str, **options: Any) -> None:
        getattr(self, f"_{verb.replace('-', '_')}")(**options)

    def _add(self, *, workspace: str, title: str, depends_on: list[str], **options: Any) -> None:
        row = workspace_named(workspace)
        others = [by_prefix(_tasks(row), text, noun="task").id for text in depends_on]
        draft = _draft(title, **options)
        status = TaskStatus.READY if options["ready"] else TaskStatus.BACKLOG
        task = create_task(workspace=row, draft=draft, depends_on=others, status=status)
        self.say(f"{task.id.hex[:8]}  {task.status}  {task.title}")

    def _list(self, *, workspace: str, status: str | None, **_: Any) -> None:
        rows = _tasks(workspace_named(workspace))
        if status:
            rows = rows.filter(status=_status(status))
        lines = [["ID", "STATUS", "P", "AFTER", "TITLE"]]
        for task in rows.prefetch_related("depends_on"):
            after = ",".join(other.id.hex[:8] for other in task.depends_on.all())
            lines.append([task.id.hex[:8], task.status, str(task.priority), after, task.title])
        for line in table(lines, right=(2,)):
            self.say(line)

    def _show(self, *, task: str, **_: Any) -> None:
        row = by_prefix(Task.objects.all(), task, noun="task")
        facts = {
            "id": row.id,
            "workspace": row.workspace.name,
            "title": row.title,
            "key": row.key,
            "status": row.status,
            "priority": row.priority,
            "depends on": ", ".join(str(other) for other in row.depends_on.all()),
            "estimated hours": row.estimated_hours,
            "complexity": row.complexity_score,
            "uncertainty": row.uncertainty_level,
            "open questions": "; ".join(b.question for b in row.blockers.filter(status="OPEN")),
            "runs": ", ".join(f"{run.short_id} {run.status}" for run in row.runs.all()),
        }
        for name, value in facts.items():
            if value not in ("", None):
                self.say(f"{name + ':':<17}{value}")
        if row.description:
            self.say(f"\n{row.description}")

    def _import(self, *, file: str, workspace: str, ready: bool, update: bool, **_: Any) -> None:
        row = workspace_named(workspace)
        status = TaskStatus.READY if ready else TaskStatus.BACKLOG
        tasks = import_file(workspace=row, path=Path(file), status=status, update=update)
        for task in tasks:
            self.say(f"{task.id.hex[:8]}  {task.status}  {task.title}")

    def _set_status(self, *, status: str, tasks: list[str], **_: Any) -> None:
        to = _status(status)
        for task in [by_prefix(Task.objects.all(), text, noun="task") for text in tasks]:
            move_task(task=task, to=to, why="set by hand")
            self.say(f"{task.id.hex[:8]}  {task.status}  {task.title}")

    def _delete(self, *, tasks: list[str], **_: Any) -> None:
        for task in [by_prefix(Task.objects.all(), text, noun="task") for text in tasks]:
            short = task.id.hex[:8]
            delete_task(task=task)
            self.say(f"{short}  deleted  {task.title}")


def _arguments_of_add(add: argparse.ArgumentParser) -> None:
    add.add_argument("title")
    add.add_argument("--workspace", "-w", required=True)
    add.add_argument("--description", default="", help="- reads it from standard input")
    add.add_argument("--key", default="")
    add.add_argument("--depends-on", action="append", default=[], metavar="TASK")
    add.add_argument("--priority", type=int, default=0, help="0 is the highest")
    add.add_argument("--estimate", type=float, metavar="HOURS")
    add.add_argument("--complexity", type=int, metavar="1-5")
    add.add_argument("--uncertainty", choices=["low", "medium", "high"])
    add.add_argument("--no-changes", action="store_true", help="may complete without a change")
    add.add_argument("--ready", action="store_true", help="READY instead of BACKLOG")


def _draft(title: str, **options: Any) -> TaskDraft:
    description = options["description"]
    return TaskDraft(
        title=title,
        line=0,
        key=options["key"] or None,
        description=sys.stdin.read() if description == "-" else description,
        priority=options["priority"],
        estimated_hours=options["estimate"],
        complexity_score=options["complexity"],
        uncertainty_level=options["uncertainty"],
        expects_changes=not options["no_changes"],
    )


def _tasks(workspace: Workspace):  # type: ignore[no-untyped-def]
    return Task.objects.filter(workspace=workspace)


def _status(text: str) -> TaskStatus:
    name = text.upper().replace("-", "_")
    if name not in TaskStatus.values:
        raise ValidationFailed(f"{text!r} is no status; there are: {STATUSES}")
    return TaskStatus(name)
