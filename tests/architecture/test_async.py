"""The event loop belongs to few files, and nothing in them blocks it."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source import dotted, product

MAY_BE_ASYNC = frozenset(
    {
        "codeframe_site/asgi.py",
        "codeframe_site/health.py",
        "codeframe_site/looplag.py",
        "tasks/events/consumers.py",
        "tasks/events/sse.py",
        "tasks/events/stream.py",
    }
)
BLOCKING_NAMES = frozenset({"open", "input", "sleep", "persist", "record", "call_command"})
BLOCKING_MODULES = (
    "subprocess.",
    "requests.",
    "urllib.request.",
    "socket.create_connection",
    "time.sleep",
    "os.system",
    "os.waitpid",
    "shutil.",
    "sqlite3.",
    "psycopg.connect",
)
BLOCKING_METHODS = frozenset(
    {"read_text", "read_bytes", "write_text", "write_bytes", "cursor", "refresh_from_db"}
)


def async_functions(tree: ast.AST) -> Iterator[ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef))


def own_nodes(function: ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Without functions defined inside: those run where they are called, mostly in a thread."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def blocking_calls(tree: ast.AST) -> Iterator[str]:
    for function in async_functions(tree):
        nodes = list(own_nodes(function))
        awaited = {id(node.value) for node in nodes if isinstance(node, ast.Await)}
        for node in nodes:
            found = _blocking(node, awaited=id(node) in awaited)
            if found:
                yield f"{function.name}: {found}"


def _blocking(node: ast.AST, *, awaited: bool) -> str:
    if isinstance(node, ast.Attribute) and node.attr == "objects":
        return f"{dotted(node)} (query in a function of its own, called in a thread)"
    if not isinstance(node, ast.Call) or awaited:
        return ""
    name = dotted(node.func)
    last = name.rsplit(".", 1)[-1]
    method = isinstance(node.func, ast.Attribute) and last in BLOCKING_METHODS | {"open"}
    return name if name in BLOCKING_NAMES or name.startswith(BLOCKING_MODULES) or method else ""


def test_only_the_files_of_the_event_loop_are_async() -> None:
    found = {source.name for source in product() if any(async_functions(source.tree))}
    assert found - MAY_BE_ASYNC == set()


def test_nothing_blocks_the_event_loop() -> None:
    found = [
        f"{source.name}: {what}" for source in product() for what in blocking_calls(source.tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "time.sleep(1)",
        "sleep(1)",
        "open('x')",
        "Path('x').open()",
        "path.read_text()",
        "subprocess.run(['x'])",
        "requests.get('x')",
        "list(Event.objects.filter(seq__gt=1))",
        "await Event.objects.aget(id=1)",
        "connection.cursor()",
        "with open('x') as file: pass",
    ],
)
def test_a_blocking_call_is_found(line: str) -> None:
    assert list(blocking_calls(ast.parse(f"async def f():\n    {line}")))


@pytest.mark.parametrize(
    "line",
    [
        "await asyncio.sleep(1)",
        "await sleep(1)",
        "await asyncio.to_thread(read_page, 1)",
        "rows = await sync_to_async(open)('x')",
        "await writer.open()",
        "def inner(): time.sleep(1)",
        "await asyncio.to_thread(lambda: open('x'))",
    ],
)
def test_waiting_on_the_loop_is_no_blocking_call(line: str) -> None:
    assert list(blocking_calls(ast.parse(f"async def f():\n    {line}"))) == []
