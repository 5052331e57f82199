"""The tools there are, by name; another one is a class and a row here."""

from importlib import import_module

from batches.provisioning.tools.base import Tool

TOOLS: dict[str, str] = {
    "uv": "batches.provisioning.tools.python.Uv",
    "pip": "batches.provisioning.tools.python.Pip",
    "pnpm": "batches.provisioning.tools.node.Pnpm",
    "yarn": "batches.provisioning.tools.node.Yarn",
    "npm": "batches.provisioning.tools.node.Npm",
}
"""Name -> class, in the order in which lock files are looked for."""


def load_tool(name: str) -> Tool:
    """Raises KeyError for a name that is not there."""
    module, _, attribute = TOOLS[name].rpartition(".")
    tool: Tool = getattr(import_module(module), attribute)()
    return tool
