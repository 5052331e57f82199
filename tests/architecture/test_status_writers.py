"""Only the two lifecycles write the status of a task, a batch or a run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import Source, dotted, product

LIFECYCLES = ("tasks/lifecycle", "batches/lifecycle")
GUARDED_MODELS = frozenset({"Task", "Batch", "Run"})
WRITERS = frozenset(
    {
        "update",
        "aupdate",
        "save",
        "asave",
        "save_and_say",
        "save_later",
        "require",
        "update_or_create",
    }
)
"""Calls whose keywords become columns: Django's own, a run's context and a batch's lease."""


def status_writes(source: Source) -> Iterator[str]:
    """Creation with an initial status (`Task(status=...)`, `.create(status=...)`) is no move."""
    in_models = "/models/" in source.name
    for node in ast.walk(source.tree):
        if any(_is_status_target(target, in_models) for target in _targets(node)):
            yield f"{source.name}:{node.lineno}: assigns .status"  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and _call_writes_status(node):
            yield f"{source.name}:{node.lineno}: writes status by {dotted(node.func)}()"


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [leaf for target in node.targets for leaf in _leaves(target)]
    if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.NamedExpr):
        return list(_leaves(node.target))
    return []


def _leaves(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _leaves(element)
    else:
        yield target


def _is_status_target(target: ast.expr, in_models: bool) -> bool:
    if not isinstance(target, ast.Attribute) or target.attr not in ("status", "status_id"):
        return False
    of_itself = isinstance(target.value, ast.Name) and target.value.id == "self"
    return in_models or not of_itself  # elsewhere `self` is no row


def _call_writes_status(call: ast.Call) -> bool:
    name = dotted(call.func).rsplit(".", 1)[-1]
    if name == "setattr":
        return len(call.args) > 1 and _is_text(call.args[1], "status")
    if _of_another_model(call):
        return False
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in WRITERS and "status" in keywords:
        return True
    fields = [keywords.get("update_fields"), keywords.get("defaults")]
    fields += call.args if name in ("bulk_update", "abulk_update", "raw", "execute") else []
    return any(_mentions_status(field) for field in fields if field is not None)


def _of_another_model(call: ast.Call) -> bool:
    root = dotted(call.func).split(".")[0]
    return ".objects." in dotted(call.func) and root not in GUARDED_MODELS and root[:1].isupper()


def _mentions_status(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.replace("=", " ").replace(",", " ").split()
        return "status" in words and (len(words) == 1 or words[0].upper() in ("UPDATE", "INSERT"))
    return any(_mentions_status(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def test_no_file_but_the_lifecycles_writes_a_status() -> None:
    others = [s for s in product() if not s.name.startswith(LIFECYCLES)]
    assert [found for source in others for found in status_writes(source)] == []


def test_the_lifecycles_do_write_it() -> None:
    for name in LIFECYCLES:
        sources = [source for source in product() if source.name.startswith(name)]
        assert [found for source in sources for found in status_writes(source)], name


def _source(text: str, name: str) -> Source:
    root = Path(__file__).resolve().parents[2]
    return Source(path=root / name, tree=ast.parse(text), lines=1)


@pytest.mark.parametrize(
    "text",
    [
        "task.status = 'DONE'",
        "task.status, why = 'DONE', 'x'",
        "run.batch.status: str = 'FAILED'",
        "Task.objects.filter(id=1).update(status='DONE')",
        "rows.update(title='x', status='DONE')",
        "task.save(update_fields=['status'])",
        "Run.objects.bulk_update(runs, ['title', 'status'])",
        "Task.objects.update_or_create(id=1, defaults={'status': 'DONE'})",
        "setattr(run, 'status', 'LOST')",
        "context.save(status='LOST')",
        "lease.require(status='FAILED')",
        "cursor.execute('UPDATE batches_run SET status = %s', ['LOST'])",
    ],
)
def test_a_write_is_found(text: str) -> None:
    assert list(status_writes(_source(text, "batches/example.py")))


@pytest.mark.parametrize(
    "text",
    [
        "Task(title='x', status='READY')",
        "Batch.objects.create(status='PENDING')",
        "Task.objects.filter(status='READY')",
        "Blocker.objects.filter(id=1).update(status='ANSWERED')",
        "self.status = 0",
        "payload.update(state=1)",
        "status = task.status",
        "task.save(update_fields=['title'])",
        "cursor.execute('SELECT status FROM tasks_task')",
    ],
)
def test_reading_and_creating_is_no_write(text: str) -> None:
    assert list(status_writes(_source(text, "batches/example.py"))) == []


def test_a_model_that_moves_itself_is_found() -> None:
    assert list(status_writes(_source("self.status = 'DONE'", "tasks/models/task.py")))
