"""Set-up commands, replayed in order into one tree's own environment, never into another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from batches.engines.environment import server_path
from batches.provisioning.programs import ProgramMissing, find_program
from batches.provisioning.requirement_files import (
    ReadText,
    RequirementsRefused,
    refuse_foreign,
    with_included,
)
from batches.provisioning.setup_command import Policy, SetupCommand
from batches.provisioning.steps import StepFailed, Steps
from batches.provisioning.surroundings import Surroundings

MAX_REQUIREMENT_BYTES = 1024 * 1024
PYTHON_KINDS = ("pip", "uv")


class SetupFailed(Exception):
    """The message names the command."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where commands are replayed; `own` is the folder of the tree's own environments."""

    tree: Path
    own: Path
    surroundings: Surroundings
    policy: Policy
    timeout_s: float

    @property
    def venv(self) -> Path:
        return self.own / "python" / "venv"

    @property
    def conda(self) -> Path:
        return self.own / "conda"


def replay(commands: Sequence[SetupCommand], ground: Ground, steps: Steps) -> None:
    """Raises SetupFailed at the first that fails, and what the steps' `check` raises.

    Whatever ends it early, the rest is told as not run.
    """
    waiting = list(commands)
    try:
        while waiting:
            steps.check()
            _replay_one(waiting.pop(0), ground, steps)
    except BaseException:
        for command in waiting:
            steps.skip(command.text)
        raise


def _replay_one(command: SetupCommand, ground: Ground, steps: Steps) -> None:
    try:
        _refuse_outside(command, ground.tree)
        for name in command.files:
            refuse_foreign(with_included(name, _reader(ground.tree)), ground.policy)
        steps.run(
            _argv(command, ground),
            cwd=ground.tree,
            env=steps.environment(ground.surroundings, _variables(ground)),
            timeout_s=ground.timeout_s,
            shown=command.text,
        )
    except (RequirementsRefused, ProgramMissing) as error:
        raise SetupFailed(f"{command.text}: {error}") from error
    except StepFailed as error:
        raise SetupFailed(str(error)) from error


def _refuse_outside(command: SetupCommand, tree: Path) -> None:
    """A link of the repository may lead a path anywhere. Raises SetupFailed."""
    for word in command.words:
        path = tree / word.partition("=")[2] if word.startswith("--") else tree / word
        path = Path(str(path).partition("[")[0])
        if not path.resolve().is_relative_to(tree.resolve()):
            raise SetupFailed(f"{command.text}: {word} leads out of the tree.")


def _argv(command: SetupCommand, ground: Ground) -> tuple[str, ...]:
    """The words as they were allowed, behind the program that installs into this environment."""
    verb, python = (
        command.argv[: len(command.argv) - len(command.words)],
        ground.venv / "bin/python",
    )
    if command.kind == "pip":
        pip = (str(python), "-I", "-m", "pip", verb[-1], "--no-input")
        return (*pip, "--disable-pip-version-check", *command.words)
    program = str(find_program(verb[0], server_path()).path)
    if verb == ("uv", "pip", "install"):
        return (program, "pip", "install", "--python", str(python), *command.words)
    if command.kind == "conda":
        made = (ground.conda / "conda-meta").is_dir()
        how = "install" if made else "create"
        return (program, how, "--yes", "--prefix", str(ground.conda), *command.words)
    if verb == ("uv", "sync"):
        return (program, "sync", "--inexact", *command.words)
    return (program, *verb[1:], *command.words)


def _variables(ground: Ground) -> Mapping[str, str]:
    return {
        "PIP_REQUIRE_VIRTUALENV": "1",
        "PIP_NO_INPUT": "1",
        "UV_PROJECT_ENVIRONMENT": str(ground.venv),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_LINK_MODE": "copy",
        "DEBIAN_FRONTEND": "noninteractive",
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
    }


def _reader(tree: Path) -> ReadText:
    """Text of a regular file below the tree, links resolved; None for anything else."""

    def read(name: str) -> str | None:
        path = (tree / name).resolve()
        if not path.is_relative_to(tree.resolve()) or not path.is_file():
            return None
        if path.stat().st_size > MAX_REQUIREMENT_BYTES:
            raise RequirementsRefused(f"{name}: it is larger than {MAX_REQUIREMENT_BYTES} bytes.")
        return path.read_text(errors="replace")

    return read
