"""The event loop belongs to few files, and nothing in them blocks it."""

import ast
from collections.abc import Iterator

import pytest

from codeframe_site.loop_calls import ALLOWED, SHORTEST_S
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
    {
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "cursor",
        "refresh_from_db",
        "open",
        # Of threads, locks and futures: they wait for somebody else.
        "acquire",
        "result",
        "join",
        "wait",
    }
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


def blocking_calls(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The async function's name, and the call."""
    for function in async_functions(tree):
        nodes = list(own_nodes(function))
        awaited = {id(call) for node in nodes for call in _awaited(node)}
        for node in nodes:
            found = _blocking(node, awaited=id(node) in awaited)
            if found:
                yield function.name, found


def _awaited(node: ast.AST) -> list[ast.AST]:
    """What is awaited, also by way of asyncio: a coroutine, not a call."""
    if not isinstance(node, ast.Await):
        return []
    inner = node.value
    through = isinstance(inner, ast.Call) and dotted(inner.func).startswith("asyncio.")
    return [inner, *(inner.args if through else ())]


def _blocking(node: ast.AST, *, awaited: bool) -> str:
    if isinstance(node, ast.With):
        names = [dotted(item.context_expr) for item in node.items]
        return next((f"with {name}" for name in names if name.lower().endswith("lock")), "")
    if isinstance(node, ast.Attribute) and node.attr == "objects":
        return f"{dotted(node)} (query in a function of its own, called in a thread)"
    if not isinstance(node, ast.Call) or awaited:
        return ""
    name = dotted(node.func)
    last = name.rsplit(".", 1)[-1]
    method = (
        isinstance(node.func, ast.Attribute)
        and last in BLOCKING_METHODS
        and not isinstance(node.func.value, ast.Constant)
        and not name.startswith("asyncio.")
    )
    return name if name in BLOCKING_NAMES or name.startswith(BLOCKING_MODULES) or method else ""


def test_only_the_files_of_the_event_loop_are_async() -> None:
    found = {source.name for source in product() if any(async_functions(source.tree))}
    assert found - MAY_BE_ASYNC == set()


def test_nothing_blocks_the_event_loop() -> None:
    found = {(source.name, *call) for source in product() for call in blocking_calls(source.tree)}
    allowed = {(call.file, call.function, call.call) for call in ALLOWED}
    assert found - allowed == set(), "in a thread, or into loop_calls.py with a bound"
    assert allowed - found == set(), "these are gone"


def test_each_exception_says_how_long_and_why() -> None:
    assert all(0 <= call.bound_s < min(SHORTEST_S.values()) and call.why for call in ALLOWED)


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
        "with self._lock: pass",
        "lock.acquire()",
        "thread.join()",
        "future.result()",
        "event.wait(1)",
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
        "await event.wait()",
        "await asyncio.wait_for(event.wait(), 1)",
        "async with lock: pass",
        "', '.join(words)",
        "def inner(): time.sleep(1)",
        "await asyncio.to_thread(lambda: open('x'))",
    ],
)
def test_waiting_on_the_loop_is_no_blocking_call(line: str) -> None:
    assert list(blocking_calls(ast.parse(f"async def f():\n    {line}"))) == []
