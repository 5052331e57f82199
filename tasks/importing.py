"""Tasks out of a file, into a workspace: all of them or none."""

from pathlib import Path

from tasks.errors import FileRefused, ValidationFailed
from tasks.models import Task, Workspace
from tasks.models.task import TaskStatus
from tasks.planning.importing import ImportErrors, TaskDraft, format_of, parse_tasks
from tasks.registry import import_drafts, known_names

MAX_BYTES = 5 * 1024 * 1024


def read_file(*, workspace: Workspace, path: Path) -> list[TaskDraft]:
    """Raises FileRefused with every problem of the file, each with its line."""
    try:
        kind = format_of(path)
    except ValueError as error:
        raise ValidationFailed(str(error)) from error
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        return parse_tasks(data, format=kind, name=path.name, known=known_names(workspace))
    except OSError as error:
        raise ValidationFailed(f"{path}: {error.strerror or error}") from error
    except ImportErrors as errors:
        raise FileRefused(str(errors)) from errors


def import_file(
    *, workspace: Workspace, path: Path, status: TaskStatus, update: bool = False
) -> list[Task]:
    drafts = read_file(workspace=workspace, path=path)
    return import_drafts(workspace=workspace, drafts=drafts, status=status, update=update)
