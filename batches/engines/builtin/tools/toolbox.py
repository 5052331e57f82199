"""Does what the model calls for; whatever goes wrong is an answer to the model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from batches.engines.builtin.conversation import Call
from batches.engines.builtin.tools.jail import Jail, ToolError
from batches.engines.builtin.tools.listing import list_files
from batches.engines.builtin.tools.read import read_file
from batches.engines.builtin.tools.schemas import arguments_of
from batches.engines.builtin.tools.search import search_codebase
from batches.engines.builtin.tools.shell import Done, Shell
from batches.engines.builtin.tools.testing import test_command
from batches.engines.builtin.tools.write import create_file, edit_file

TESTS_S = 300
TESTS_OUTPUT = 5_000
COMMAND_S = 60
COMMAND_OUTPUT = 4_000
DEFAULT_DEPTH = 3
DEFAULT_RESULTS = 20
Arguments = Mapping[str, Any]


class Question(Exception):
    """The model asks a person."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


@dataclass(frozen=True)
class Outcome:
    """`changed` maps paths to created or edited."""

    text: str
    ok: bool = True
    changed: Mapping[str, str] | None = None


class Toolbox:
    def __init__(self, jail: Jail, shell: Shell, tests: str | None = None) -> None:
        """`tests` is the command that runs them, where it is known."""
        self._jail = jail
        self._shell = shell
        self._tests = tests
        self._tools: dict[str, Callable[[Arguments], Outcome]] = {
            "read_file": self._read,
            "list_files": self._list,
            "search_codebase": self._search,
            "edit_file": self._edit,
            "create_file": self._create,
            "run_tests": self._run_tests,
            "run_command": self._run_command,
            "ask": self._ask,
        }

    def use(self, call: Call) -> Outcome:
        """Raises Question."""
        try:
            return self._tools[call.name](arguments_of(call.name, call.arguments))
        except KeyError:
            return Outcome(f"There is no tool {call.name!r}.", ok=False)
        except ToolError as error:
            return Outcome(str(error), ok=False)
        except OSError as error:
            return Outcome(f"The system refused: {error.strerror or error}.", ok=False)

    def _read(self, given: Arguments) -> Outcome:
        lines = given.get("start_line"), given.get("end_line")
        return Outcome(read_file(self._jail, given["path"], *lines))

    def _list(self, given: Arguments) -> Outcome:
        depth = given.get("max_depth", DEFAULT_DEPTH)
        return Outcome(list_files(self._jail, given.get("path", "."), given.get("pattern"), depth))

    def _search(self, given: Arguments) -> Outcome:
        most = given.get("max_results", DEFAULT_RESULTS)
        return Outcome(search_codebase(self._jail, given["pattern"], given.get("file_glob"), most))

    def _edit(self, given: Arguments) -> Outcome:
        said = edit_file(self._jail, given["path"], given["edits"])
        return Outcome(said, changed={self._name(given["path"]): "edited"})

    def _create(self, given: Arguments) -> Outcome:
        said = create_file(self._jail, given["path"], given["content"])
        return Outcome(said, changed={self._name(given["path"]): "created"})

    def _name(self, path: str) -> str:
        return self._jail.name(self._jail.resolve(path))

    def _run_tests(self, given: Arguments) -> Outcome:
        path = given.get("test_path")
        if path is not None:
            self._jail.resolve(path.split("::")[0])
        verbose = given.get("verbose", False)
        command = self._tests or test_command(self._jail.tree, path, verbose=verbose)
        if command is None:
            raise ToolError("No tests of a known kind are here; use run_command.")
        return _ended(self._shell.run(command, TESTS_S, TESTS_OUTPUT), TESTS_S, f"$ {command}\n")

    def _run_command(self, given: Arguments) -> Outcome:
        command, timeout = given["command"], given.get("timeout", COMMAND_S)
        if "\0" in command:
            raise ToolError("The command has a NUL character.")
        return _ended(self._shell.run(command, timeout, COMMAND_OUTPUT), timeout)

    def _ask(self, given: Arguments) -> Outcome:
        raise Question(given["question"].strip() or "(an empty question)")


def _ended(done: Done, timeout_s: float, before: str = "") -> Outcome:
    how = f"stopped after {timeout_s:g} s" if done.code is None else f"exit code {done.code}"
    return Outcome(f"{before}{done.output}\n[{how}]".strip(), ok=done.code == 0)
