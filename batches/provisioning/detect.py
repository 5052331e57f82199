"""Which environments a commit asks for, by the lock files at its top."""

from collections.abc import Callable, Mapping, Sequence

from batches.provisioning.tools import TOOLS, load_tool
from batches.provisioning.tools.base import Need, NeedRefused, ReadFile, Tool

AUTO, NONE = "auto", "none"
MAX_BYTES = 32 * 1024 * 1024
Tools = str | Sequence[str]


def looked_at() -> list[str]:
    """What any tool may read at the top of a tree."""
    tools = map(load_tool, TOOLS)
    return list(dict.fromkeys(name for tool in tools for name in (*tool.locks, *tool.reads)))


def find_needs(wanted: Tools, files: Mapping[str, bytes], read_more: ReadFile) -> list[Need]:
    """`files` are those of `looked_at` that are there; `read_more` reads what they include.

    Raises NeedRefused.
    """
    if wanted == NONE:
        return []
    read = _reader(files, read_more)
    tools = [load_tool(name) for name in (TOOLS if wanted == AUTO else wanted)]
    asked = [tool for tool in tools if any(lock in files for lock in tool.locks)]
    if wanted != AUTO and len(asked) < len(tools):
        missing = next(tool for tool in tools if tool not in asked)
        raise NeedRefused(f"{missing.name} is asked for, and there is no {missing.locks[0]}.")
    needs = (tool.need(read) for tool in _one_each(asked))
    return [need for need in needs if need is not None]


def _one_each(tools: Sequence[Tool]) -> list[Tool]:
    first: dict[str, Tool] = {}
    for tool in tools:
        first.setdefault(tool.ecosystem, tool)
    return list(first.values())


def _reader(files: Mapping[str, bytes], read_more: ReadFile) -> Callable[[str], bytes | None]:
    known = frozenset(looked_at())

    def read(name: str) -> bytes | None:
        return files.get(name) if name in known else read_more(name)

    return read
