"""The engines by name; each is a class that takes no arguments."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the built-in agent comes this way too, and starts in half the time without
    from batches.engines.base import Engine

ENGINES = {
    "command": "batches.engines.command.CommandEngine",
    "claude": "batches.engines.claude.ClaudeEngine",
    "codex": "batches.engines.codex.CodexEngine",
    "opencode": "batches.engines.opencode.OpencodeEngine",
    "gemini": "batches.engines.gemini.GeminiEngine",
    "builtin": "batches.engines.builtin.engine.BuiltinEngine",
}
AGENTS = ("claude", "codex", "opencode", "gemini")
"""Those that know a program of somebody else; the command engine knows any, and none well."""
NAMED = (*AGENTS, "builtin")
"""Those that a batch chooses by these names; command engines have names of their own."""


class UnknownEngineError(LookupError):
    """The message lists the engines there are."""


def load(name: str) -> Engine:
    """Raises UnknownEngineError."""
    if name not in ENGINES:
        known = ", ".join(sorted(ENGINES))
        raise UnknownEngineError(f"There is no engine {name!r}. Engines: {known}.")
    module, _, attribute = ENGINES[name].rpartition(".")
    engine: Engine = getattr(import_module(module), attribute)()
    return engine
