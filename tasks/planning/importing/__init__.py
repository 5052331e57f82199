"""Reading tasks from the files people write: YAML, JSON and Markdown checklists."""

from tasks.planning.importing.draft import TaskDraft
from tasks.planning.importing.problems import ImportErrors, Problem
from tasks.planning.importing.task_file import Format, format_of, parse_tasks

__all__ = ["Format", "ImportErrors", "Problem", "TaskDraft", "format_of", "parse_tasks"]
