"""The tools as the model is told of them, and the check of what it gives them."""

import json
from typing import Any

from batches.engines.builtin.tools.jail import ToolError

Schema = dict[str, Any]


def _tool(name: str, description: str, required: str, **properties: Schema) -> Schema:
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required.split(),
        },
    }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _number(description: str, low: int, high: int) -> Schema:
    return {"type": "integer", "description": description, "minimum": low, "maximum": high}


_EDIT = {
    "type": "object",
    "properties": {
        "search": _text("The exact text to replace, with enough lines around it to be unique"),
        "replace": _text("What takes its place; empty deletes it"),
    },
    "required": ["search", "replace"],
}
_LINE = 10**9

TOOLS = [
    _tool(
        "read_file",
        "Read a text file of the working tree, with line numbers. Of a file with more than 500 "
        "lines the first 200 and the last 50 are given; ask for others by number.",
        "path",
        path=_text("Relative to the working tree"),
        start_line=_number("First line, counted from 1", 1, _LINE),
        end_line=_number("Last line", 1, _LINE),
    ),
    _tool(
        "list_files",
        "List files and folders of the working tree.",
        "",
        path=_text("The folder; the whole tree when absent"),
        pattern=_text("Only names that match, for example *.py"),
        max_depth=_number("How many levels deep; 3 when absent", 1, 20),
    ),
    _tool(
        "search_codebase",
        "Find lines that match a regular expression (Python's) in the files of the tree.",
        "pattern",
        pattern=_text("The regular expression"),
        file_glob=_text("Only in files that match, for example *.py or src/*"),
        max_results=_number("20 when absent", 1, 200),
    ),
    _tool(
        "edit_file",
        "Change parts of an existing file. Every search must be found exactly once. "
        "All edits are made or none.",
        "path edits",
        path=_text("Relative to the working tree"),
        edits={"type": "array", "items": _EDIT, "minItems": 1},
    ),
    _tool(
        "create_file",
        "Create a new file, with the folders it needs. Fails when the file exists.",
        "path content",
        path=_text("Relative to the working tree"),
        content=_text("All of the file"),
    ),
    _tool(
        "run_tests",
        "Run the project's tests, for at most 300 seconds.",
        "",
        test_path=_text("Only this file or folder"),
        verbose={"type": "boolean", "description": "Name every test"},
    ),
    _tool(
        "run_command",
        "Run a shell command in the working tree and get its output. It has no input. What it "
        "leaves in the background ends with it.",
        "command",
        command=_text("For /bin/sh"),
        timeout=_number("Seconds; 60 when absent", 1, 300),
    ),
    _tool(
        "ask",
        "Ask a person one question and end the work until it is answered. Only for what you "
        "cannot find out or decide yourself.",
        "question",
        question=_text("All that the person needs to know to answer"),
    ),
]
_LOOKING = {"read_file", "list_files", "search_codebase", "ask"}
_WRITING = {"edit_file", "create_file"}
_BY_PERMISSION = {"edits": _LOOKING | _WRITING, "read": _LOOKING}
PERMISSIONS = ("bypass", *_BY_PERMISSION)
_BY_NAME: dict[str, Schema] = {tool["name"]: tool["parameters"] for tool in TOOLS}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def allowed(permission: str) -> list[Schema]:
    """What the model is offered; with bypass everything."""
    names = _BY_PERMISSION.get(permission)
    return [tool for tool in TOOLS if names is None or tool["name"] in names]


def is_known(name: str) -> bool:
    return name in _BY_NAME


def arguments_of(name: str, text: str) -> dict[str, Any]:
    """What the model wrote, as far as the tool knows it. Raises ToolError."""
    if name not in _BY_NAME:
        known = ", ".join(_BY_NAME)
        raise ToolError(f"There is no tool {name!r}. Tools: {known}.")
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The arguments are no valid JSON: {error}.") from error
    return _checked(value, _BY_NAME[name], "The arguments")


def _checked(value: Any, schema: Schema, where: str) -> dict[str, Any]:
    """null is as absent: models send it for what they leave out."""
    if not isinstance(value, dict):
        raise ToolError(f"{where} must be an object.")
    given = {name: value[name] for name in schema["properties"] if value.get(name) is not None}
    missing = [name for name in schema["required"] if name not in given]
    if missing:
        raise ToolError(f"{where} lack {', '.join(missing)}.")
    for name, found in given.items():
        _check(found, schema["properties"][name], name)
    return given


def _check(value: Any, schema: Schema, where: str) -> None:
    kind = schema["type"]
    if (isinstance(value, bool) and kind != "boolean") or not isinstance(value, _TYPES[kind]):
        raise ToolError(f"{where} must be of type {kind}.")
    if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        raise ToolError(f"{where} must be from {schema['minimum']} to {schema['maximum']}.")
    if isinstance(value, list):
        if not value:
            raise ToolError(f"{where} is empty.")
        for place, item in enumerate(value, 1):
            _checked(item, schema["items"], f"{where}, number {place},")
