import argparse
import sys
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from batches.deletion import delete_task
from tasks.console import ConsoleCommand, Verbs, from_zero
from tasks.errors import ValidationFailed
from tasks.importing import MAX_BYTES, import_file
from tasks.lifecycle import move_task
from tasks.lookup import by_prefix, workspace_named
from tasks.models import Task, Workspace
from tasks.models.task import TaskStatus
from tasks.planning.importing import TaskDraft
from tasks.registry import create_task
from tasks.tables import table
from tasks.text import clip, printable

STATUSES = ", ".join(TaskStatus.values)
ONE = "its id or the beginning of it; manage.py task list"
AFTER, TITLE = 3, 4


class Command(ConsoleCommand):
    help = "Add, import, show and change the tasks of a workspace."
    epilog = "example:\n  manage.py task import tasks.yaml -w shop --ready"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = Verbs(parser)
        _arguments_of_add(verbs.add("add", "Add one task"))
        listing = verbs.add("list", "List tasks, in the order in which they would run")
        _add_workspace(listing)
        listing.add_argument("--status", help=STATUSES)
        show = verbs.add("show", "Show one task")
        show.add_argument("task", metavar="TASK", help=ONE)
        _arguments_of_import(verbs.add("import", "Import a file, whole or not at all"))
        moving = verbs.add("set-status", "Move tasks to another status, all or none")
        moving.add_argument("status", metavar="STATUS", help=STATUSES)
        moving.add_argument("tasks", nargs="+", metavar="TASK", help=ONE)
        deleting = verbs.add("delete", "Delete tasks, all or none; what was done stays")
        deleting.add_argument("tasks", nargs="+", metavar="TASK", help=ONE)

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
        for line in table(lines, right=(2,), yielding=(TITLE, AFTER), width=self.width()):
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
        rows = _named(tasks)
        with transaction.atomic():
            for task in rows:
                move_task(task=task, to=to, why="set by hand")
        for task in rows:
            self.say(f"{task.id.hex[:8]}  {task.status}  {task.title}")

    def _delete(self, *, tasks: list[str], **_: Any) -> None:
        rows = _named(tasks)
        names = [f"{task.id.hex[:8]}  deleted  {task.title}" for task in rows]
        with transaction.atomic():
            for task in rows:
                delete_task(task=task)
        for name in names:
            self.say(name)


def _named(tasks: list[str]) -> list[Task]:
    """Each once, though it be named twice."""
    found = [by_prefix(Task.objects.all(), text, noun="task") for text in tasks]
    return list({task.id: task for task in found}.values())


def _add_workspace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", "-w", required=True, metavar="NAME", help="name, path or id of a workspace"
    )


def _arguments_of_import(importing: argparse.ArgumentParser) -> None:
    importing.add_argument(
        "file", metavar="FILE", help="YAML, JSON or Markdown; docs/tasks-files.md shows the formats"
    )
    _add_workspace(importing)
    importing.add_argument("--ready", action="store_true", help="READY instead of BACKLOG")
    importing.add_argument(
        "--update", action="store_true", help="take over unfinished tasks of the same key or title"
    )


def _arguments_of_add(add: argparse.ArgumentParser) -> None:
    add.add_argument("title", metavar="TITLE", help="one line, up to 500 characters")
    _add_workspace(add)
    add.add_argument(
        "--description", default="", metavar="TEXT", help="what to do; - reads it from stdin"
    )
    add.add_argument("--key", default="", help="a short name, unique in the workspace")
    add.add_argument(
        "--depends-on",
        action="append",
        default=[],
        metavar="TASK",
        help="id of a task to wait for; may be given again",
    )
    add.add_argument(
        "--priority", type=int, default=0, metavar="N", help="0, the default, is first"
    )
    add.add_argument("--estimate", type=from_zero("hours"), metavar="HOURS", help="hours of work")
    add.add_argument("--complexity", type=int, metavar="N", help="1 to 5")
    add.add_argument("--uncertainty", choices=["low", "medium", "high"], help="of the estimate")
    add.add_argument("--no-changes", action="store_true", help="may complete without a change")
    add.add_argument("--ready", action="store_true", help="READY instead of BACKLOG")


def _draft(title: str, **options: Any) -> TaskDraft:
    description = options["description"]
    return TaskDraft(
        title=_line("title", title),
        line=0,
        key=_line("--key", options["key"]) if options["key"] else None,
        description=_from_stdin() if description == "-" else description,
        priority=options["priority"],
        estimated_hours=options["estimate"],
        complexity_score=options["complexity"],
        uncertainty_level=options["uncertainty"],
        expects_changes=not options["no_changes"],
    )


def _line(name: str, text: str) -> str:
    """Without blanks around it. Raises ValidationFailed."""
    if not text.strip():
        raise ValidationFailed(f"{name}: cannot be blank")
    if printable(text) != text or len(text.splitlines()) > 1:
        raise ValidationFailed(f"{name}: must be one line, without control characters")
    return text.strip()


def _from_stdin() -> str:
    """Raises ValidationFailed."""
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValidationFailed(f"--description: more than {MAX_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValidationFailed("--description: standard input is not UTF-8 text") from None


def _tasks(workspace: Workspace) -> QuerySet[Task]:
    return Task.objects.filter(workspace=workspace)


def _status(text: str) -> TaskStatus:
    name = text.upper().replace("-", "_")
    if name not in TaskStatus.values:
        raise ValidationFailed(f"{clip(text, 60)!r} is no status; there are: {STATUSES}")
    return TaskStatus(name)
