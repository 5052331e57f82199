"""From a tree of values to tasks: a list, or a mapping with `tasks`, with `children` inside."""

from tasks.planning.importing.draft import Entry
from tasks.planning.importing.problems import Problems, quoted
from tasks.planning.importing.tree import Node

MOST_TASKS = 10_000


def read_entries(root: Node | None, problems: Problems) -> list[Entry]:
    """Tasks in the order of the file, each before its children."""
    entries: list[Entry] = []
    if root is None or root.value is None:
        raise problems.fatal(1, "no tasks found: the file is empty")
    items = _top_list(root, problems)
    if items is not None:
        _read_list(items, None, entries, problems)
        if not entries and not problems.found:
            problems.add(root.line, "no tasks found: the list is empty")
    return entries


def _top_list(root: Node, problems: Problems) -> Node | None:
    if isinstance(root.value, list):
        return root
    if not isinstance(root.value, dict):
        raise problems.fatal(root.line, 'the file must be a list of tasks, or a "tasks" field')
    for name, member in root.value.items():
        if name != "tasks":
            problems.add(
                member.line, f'unknown field {quoted(name)} beside "tasks"; it must stand alone'
            )
    if "tasks" not in root.value:
        problems.add(
            root.line, 'no tasks found: the file needs a list, or a "tasks" field with one'
        )
    return root.value.get("tasks")


def _read_list(items: Node, parent: int | None, entries: list[Entry], problems: Problems) -> None:
    # The tree is at most tree.DEEPEST levels deep, so recursion is too.
    if not isinstance(items.value, list):
        problems.add(items.line, "tasks must be a list")
        return
    for item in items.value:
        if not isinstance(item.value, dict):
            problems.add(item.line, "a task must be a mapping of fields, with a title")
            continue
        if len(entries) == MOST_TASKS:
            raise problems.fatal(item.line, f"more than {MOST_TASKS:,} tasks in one file")
        members = dict(item.value)
        children = members.pop("children", None)
        entries.append(Entry(item.line, members, parent))
        if children is not None and children.value is not None:
            _read_list(children, len(entries) - 1, entries, problems)
