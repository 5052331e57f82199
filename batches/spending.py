"""What of its caps a batch has used up; asked before each launch and after each usage."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from batches.models import Batch, Run
from costs import budgets
from costs.budgets import Cap
from costs.ledger import Account
from costs.models import BudgetScope

UNPRICED = (
    "The price of {count} is not known, so the spending limit cannot be kept. "
    "Set a price for the model, or allow unpriced calls."
)


@dataclass(frozen=True)
class Halt:
    """Why money stops something. Hard: what runs is stopped too; else nothing more is launched."""

    sentence: str
    hard: bool
    of_task: bool = False


def account_of(batch: Batch, run: Run | None = None) -> Account:
    return Account(
        workspace_id=batch.workspace_id,
        time_zone=batch.workspace.time_zone,
        batch_id=batch.id,
        run_id=run.id if run else None,
        task_id=run.task_id if run else None,
    )


def halt_of(batch: Batch, run: Run | None = None) -> Halt | None:
    """The gravest; one query. Of a batch before that of its task, hard before soft."""
    return _gravest(budgets.caps_of(account_of(batch, run)), tolerant=batch.allow_unpriced)


def _gravest(caps: Iterable[Cap], *, tolerant: bool) -> Halt | None:
    halts = [halt for cap in caps if (halt := _halt(cap, tolerant=tolerant))]
    return min(halts, key=lambda halt: (halt.of_task, not halt.hard), default=None)


def _halt(cap: Cap, *, tolerant: bool) -> Halt | None:
    of_task = cap.scope is BudgetScope.TASK
    if cap.reached:
        return Halt(cap.sentence, cap.hard, of_task)
    # Of a day or month other batches may have been allowed to.
    if cap.unpriced and not tolerant and cap.scope in (BudgetScope.TASK, BudgetScope.BATCH):
        count = "one call" if cap.unpriced == 1 else f"{cap.unpriced} calls"
        return Halt(UNPRICED.format(count=count), cap.hard, of_task)
    return None


class Spending:
    """Shared by a batch's conductor and the threads of its runs."""

    def __init__(self, batch: Batch, *, wake: Callable[[], None]) -> None:
        self._batch = batch
        self._wake = wake
        self._lock = threading.Lock()
        self.stopped: Halt | None = None
        """A hard cap of the whole batch: every agent is to stop."""

    def look(self, run: Run | None = None) -> Halt | None:
        """After a usage, and once at the start; gives what stops this run, at once."""
        halt = halt_of(self._batch, run)
        if halt is None or not halt.hard:
            return None
        if halt.of_task:
            return halt
        with self._lock:
            first = self.stopped is None
            self.stopped = self.stopped or halt
        if first:
            self._wake()
        return halt
