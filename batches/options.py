"""What a batch may be told, with bounds; every entry point builds one of these."""

import re
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from batches.errors import InvalidOptions
from batches.models.batch import Isolation, Land, OnFailure, Strategy
from costs.budgets import DECIMALS, MOST_USD, amount_problem

MAX_PARALLEL = 64
MAX_RETRIES = 10
MAX_SECONDS = 7 * 24 * 3600
MAX_MODEL = 200
MAX_BUDGET = MOST_USD
BUDGET_DECIMALS = DECIMALS
Gates = str | list[str]
# It becomes a word of a command line, so it must not look like an option.
MODEL = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._:/@\[\]+-]{0,199})?")
BUDGETS = ("budget", "soft_budget", "task_budget")
NO_COLUMNS = ("soft_budget", "task_budget")
"""Caps have rows of their own; of the batch's the amount is beside it too, for showing it."""

CHOICES = {
    "strategy": Strategy.values,
    "on_failure": OnFailure.values,
    "isolation": Isolation.values,
    "land": Land.values,
}
BOUNDS = {
    "max_parallel": (1, MAX_PARALLEL),
    "max_retries": (0, MAX_RETRIES),
    "timeout_s": (0, MAX_SECONDS),
    "stall_timeout_s": (0, MAX_SECONDS),
}


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """Times in seconds, 0 is no limit. `gates` is "auto", "none" or names.

    Budgets in dollars: at `budget` what runs is stopped, at `soft_budget` nothing more is started,
    at `task_budget` a task's own agent is stopped.

    `allow_unpriced`: also where nobody knows what is spent, so that no budget can stop it.
    """

    strategy: str = Strategy.PARALLEL
    max_parallel: int = 4
    on_failure: str = OnFailure.CONTINUE
    max_retries: int = 0
    engine: str = "command"
    engine_options: dict[str, Any] = field(default_factory=dict)
    isolation: str = Isolation.WORKTREE
    gates: Gates = "auto"
    timeout_s: int = 3600
    stall_timeout_s: int = 300
    land: str = Land.AUTO
    model: str = ""
    budget: Decimal | None = None
    soft_budget: Decimal | None = None
    task_budget: Decimal | None = None
    allow_unpriced: bool = False

    def __post_init__(self) -> None:
        problems = _problems(self)
        if problems:
            first = next(iter(problems.items()))
            raise InvalidOptions(f"{first[0]}: {first[1][0]}", fields=problems)

    def fields(self) -> dict[str, Any]:
        """As columns of a batch. Serial is one at a time, whatever was asked for."""
        values = {name: value for name, value in asdict(self).items() if name not in NO_COLUMNS}
        if self.strategy == Strategy.SERIAL or self.isolation == Isolation.NONE:
            values["max_parallel"] = 1
        return values


def _problems(options: BatchOptions) -> dict[str, list[str]]:
    problems: dict[str, list[str]] = {}
    for name, allowed in CHOICES.items():
        if getattr(options, name) not in allowed:
            problems[name] = [
                f"must be one of {', '.join(allowed)}, not {getattr(options, name)!r}"
            ]
    for name, (low, high) in BOUNDS.items():
        value = getattr(options, name)
        if type(value) is not int or not low <= value <= high:
            problems[name] = [f"must be a whole number from {low} to {high}, not {value!r}"]
    if options.strategy == Strategy.AUTO:
        problems["strategy"] = [
            "auto needs a model to propose dependencies, and none is configured; use parallel"
        ]
    problems |= _money_problems(options)
    if not isinstance(options.model, str) or not MODEL.fullmatch(options.model):
        problems["model"] = ["must be a model's name: up to 200 characters without blanks"]
    if not _gates_valid(options.gates):
        problems["gates"] = ['must be "auto", "none" or a list of names']
    return problems


BUDGET_RULE = f"must be dollars over 0 up to {MAX_BUDGET}, with at most {BUDGET_DECIMALS} decimals"


def is_budget(value: Any) -> bool:
    return isinstance(value, Decimal) and amount_problem(value) is None


def _money_problems(options: BatchOptions) -> dict[str, list[str]]:
    given = {name: getattr(options, name) for name in BUDGETS}
    return {
        name: [BUDGET_RULE]
        for name, value in given.items()
        if value is not None and not is_budget(value)
    }


def _gates_valid(gates: Any) -> bool:
    if isinstance(gates, str):
        return gates in {"auto", "none"}
    return isinstance(gates, list) and bool(gates) and all(isinstance(g, str) and g for g in gates)
