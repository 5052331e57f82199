"""How a batch is to run, as options of a command line."""

import argparse
from decimal import Decimal, InvalidOperation
from typing import Any

from batches.admission import default_engine, engine_options
from batches.engines.template import CommandError, parse_command
from batches.errors import InvalidOptions
from batches.gates import catalog
from batches.models import CommandEngine
from batches.models.batch import Isolation, Land, OnFailure, Strategy
from batches.options import (
    BUDGET_RULE,
    MAX_PARALLEL,
    MAX_RETRIES,
    MAX_SECONDS,
    BatchOptions,
    is_budget,
)
from tasks.console import at_least
from tasks.models import Workspace

OF_COMMAND = {"prompt_via": "--prompt-via", "pass_env": "--pass-env"}


def add_batch_options(parser: argparse.ArgumentParser) -> None:
    defaults = BatchOptions(engine="")
    _add_agent(parser.add_argument_group("which agent (docs/engines.md)"))
    group = parser.add_argument_group("how")
    group.add_argument(
        "--strategy",
        choices=Strategy.values,
        default=defaults.strategy,
        help="default: parallel; auto needs a model",
    )
    group.add_argument(
        "--max-parallel",
        type=at_least(1, MAX_PARALLEL),
        default=defaults.max_parallel,
        metavar="N",
        help=f"agents at once, default: {defaults.max_parallel}",
    )
    group.add_argument(
        "--on-failure",
        choices=OnFailure.values,
        default=defaults.on_failure,
        help="default: continue; stop starts nothing more after the first failure",
    )
    group.add_argument(
        "--max-retries",
        type=at_least(0, MAX_RETRIES),
        default=defaults.max_retries,
        metavar="N",
        help=f"further attempts of a task that failed, default: {defaults.max_retries}",
    )
    group.add_argument(
        "--isolation",
        choices=Isolation.values,
        default=defaults.isolation,
        help="default: worktree; none works in the repository itself, one task at a time",
    )
    group.add_argument(
        "--gates",
        default="auto",
        metavar="NAMES",
        help="auto (default), none, or names with commas; see docs/gates.md",
    )
    group.add_argument(
        "--land",
        choices=Land.values,
        default=defaults.land,
        help="default: auto lands what is verified; the others leave it on the batch's branch",
    )
    _add_limits(group, defaults)


def _add_agent(group: Any) -> None:
    group.add_argument(
        "--engine", default="", metavar="NAME", help="one that can be used; manage.py engines"
    )
    group.add_argument(
        "--model", default="", metavar="NAME", help="default: the engine's own choice"
    )
    group.add_argument(
        "--command",
        default="",
        metavar="LINE",
        help="a command line instead, run without a shell",
    )
    group.add_argument(
        "--prompt-via",
        choices=CommandEngine.PromptVia.values,
        help="how --command gets its prompt, default: file",
    )
    group.add_argument(
        "--pass-env",
        action="append",
        default=[],
        metavar="NAME",
        help="a variable that --command may see; may be given again",
    )


def _add_limits(group: Any, defaults: BatchOptions) -> None:
    group.add_argument(
        "--budget",
        type=dollars,
        metavar="DOLLARS",
        help="what the batch may cost, default: no limit",
    )
    group.add_argument(
        "--soft-budget",
        type=dollars,
        metavar="DOLLARS",
        help="there it starts nothing more",
    )
    group.add_argument(
        "--task-budget",
        type=dollars,
        metavar="DOLLARS",
        help="what each task may cost, in all batches",
    )
    group.add_argument(
        "--allow-unpriced",
        action="store_true",
        help="a budget also where the engine does not say what it costs",
    )
    group.add_argument(
        "--timeout",
        type=at_least(0, MAX_SECONDS),
        default=defaults.timeout_s,
        metavar="SECONDS",
        help=f"for each agent, 0 is no limit, default: {defaults.timeout_s}",
    )
    group.add_argument(
        "--stall-timeout",
        type=at_least(0, MAX_SECONDS),
        default=defaults.stall_timeout_s,
        metavar="SECONDS",
        help="how long an agent may print nothing, 0 is no limit, "
        f"default: {defaults.stall_timeout_s}",
    )


def batch_options(workspace: Workspace, **options: Any) -> BatchOptions:
    """Raises InvalidOptions with one sentence."""
    name, engine = _engine(workspace, **options)
    try:
        gates = catalog.parse_policy(options["gates"])
    except catalog.GateError as error:
        raise InvalidOptions(f"--gates: {error}") from error
    return BatchOptions(
        strategy=options["strategy"],
        max_parallel=options["max_parallel"],
        on_failure=options["on_failure"],
        max_retries=options["max_retries"],
        engine=name,
        engine_options=engine,
        isolation=options["isolation"],
        gates=gates,
        timeout_s=options["timeout"],
        stall_timeout_s=options["stall_timeout"],
        land=options["land"],
        model=options["model"],
        budget=options["budget"],
        soft_budget=options["soft_budget"],
        task_budget=options["task_budget"],
        allow_unpriced=options["allow_unpriced"],
    )


def dollars(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not is_budget(value):
        raise argparse.ArgumentTypeError(f"{text!r} {BUDGET_RULE}")
    return value


def _engine(
    workspace: Workspace, *, engine: str, command: str, **options: Any
) -> tuple[str, dict[str, Any]]:
    if command:
        if engine not in ("", "command"):
            raise InvalidOptions("--engine and --command exclude each other")
        return "command", _command_line(command, **options)
    given = [flag for name, flag in OF_COMMAND.items() if options[name]]
    if given:
        raise InvalidOptions(f"{given[0]} belongs to --command; an engine has its own")
    if engine == "command":
        raise InvalidOptions('--engine command needs --command "..."')
    name = engine or _default_engine(workspace)
    return name, engine_options(name)


def _command_line(
    command: str, *, prompt_via: str | None, pass_env: list[str], **_: Any
) -> dict[str, Any]:
    try:
        argv = parse_command(command)
    except CommandError as error:
        raise InvalidOptions(f"--command: {error}") from error
    return {"argv": argv, "prompt_via": prompt_via or "file", "pass_env": pass_env}


def _default_engine(workspace: Workspace) -> str:
    try:
        return default_engine(workspace)
    except InvalidOptions:
        raise InvalidOptions(
            'say which agent: --engine NAME (manage.py engines) or --command "..."'
        ) from None
