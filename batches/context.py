"""What one attempt knows and may write; every write of it is fenced."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from batches.lease import Lease
from batches.models import Batch, Finding, Run, Stage
from batches.models.stage import StageOutcome
from batches.persist import persist
from batches.place import Place
from batches.reasons import Reason
from batches.results import RunResult, failed
from batches.scope import StopScope
from batches.spending import Spending, account_of
from costs.ledger import record_calls
from costs.pricing import Charge
from tasks.events import types
from tasks.events.log import NewEvent, record
from tasks.models import Task
from tasks.text import clip, storable_json, stored


class StageFailed(Exception):
    """Ends the run with a result; the stage that raised it is marked failed."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.message)
        self.result = result


@dataclass(kw_only=True)
class RunContext:
    lease: Lease
    batch: Batch
    run: Run
    scope: StopScope
    place: Place
    spending: Spending | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """Columns for the run's end."""
    _open: Stage | None = None
    _told: bool = True
    """Whether the row has the open stage's last command."""
    _unsaved: dict[str, Any] = field(default_factory=dict)
    _unsaid: list[NewEvent] = field(default_factory=list)
    _uncharged: list[Charge] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, *, deadline_s: int | None = None) -> Iterator[None]:
        """A row while the block runs. Its end goes with whatever is written next: one transaction
        between two stages."""
        persist(lambda: self._enter(name, deadline_s))
        try:
            yield
        except StageFailed as failure:
            self._settle(StageOutcome.FAILED, failure.result.message)
            raise
        except BaseException as error:
            self._settle(StageOutcome.INTERRUPTED, str(error))
            raise
        self._settle(StageOutcome.OK, "")

    def add_command(self, command: dict[str, Any]) -> None:
        """To the stage that is open: a command that has ended, or will not be run."""
        if self._open is not None:
            command = storable_json({"stage": self._open.name, **command})
            self._open.commands = [*self._open.commands, command]
            self._told = False
            self.say(types.RUN_COMMAND, {k: v for k, v in command.items() if k != "tail"})

    def task(self) -> Task:
        """As it is now. Raises StageFailed when someone deleted it."""
        task = Task.objects.filter(id=self.run.task_id).first() if self.run.task_id else None
        if task is None:
            raise StageFailed(failed(Reason.TASK_MOVED, "the task was deleted while it ran"))
        return task

    def trailers(self) -> dict[str, str]:
        """Where a commit of this run comes from."""
        return {
            "Codeframe-Batch": str(self.run.batch_id),
            "Codeframe-Task": str(self.run.task_id),
            "Codeframe-Run": str(self.run.id),
            "Codeframe-Attempt": str(self.run.attempt),
        }

    def save(self, **facts: Any) -> None:
        """Writes columns of the run at once, for what a next owner must know. Raises Fenced."""
        self.save_later(**facts)
        persist(self._write)

    def save_later(self, **facts: Any) -> None:
        """Columns that go with the next write: a crash before it only repeats the step."""
        for name, value in facts.items():
            setattr(self.run, name, value)
        self._unsaved |= facts

    def say(self, type: str, payload: dict[str, Any]) -> None:
        """An event of this run. Raises Fenced."""
        self.say_later(type, payload)
        persist(self._write)

    def say_later(self, type: str, payload: dict[str, Any]) -> None:
        self._unsaid.append(self._event(type, payload))

    def charge_later(self, charges: Sequence[Charge]) -> None:
        """Model calls that go with the next write: with how far the output was read, say."""
        self._uncharged += charges

    def write_with(self, findings: Sequence[Finding]) -> None:
        """Rows of findings, together with what was put off. Raises Fenced."""
        with transaction.atomic():
            self.lease.require()
            Finding.objects.bulk_create(findings)
            self._write()

    def save_and_say(self, type: str, payload: dict[str, Any], **facts: Any) -> None:
        self.save_later(**facts)
        self.say(type, payload)

    def flush(self) -> None:
        """Writes what was put off. Raises Fenced."""
        if self._unsaved or self._unsaid or self._uncharged:
            persist(self._write)

    def conclude(self, result: RunResult) -> RunResult:
        """With all that the transaction of the run's end is still to write."""
        self.flush_charges()
        facts = self._unsaved | self.facts | result.facts
        return replace(result, facts=facts, stage=self._open)

    def flush_charges(self) -> None:
        """Money is never left to the transaction of the run's end. Raises Fenced."""
        if self._uncharged:
            persist(self._write)

    def regrade(self, name: str, outcome: StageOutcome, detail: str) -> None:
        """A stage that has ended, by what was found out later. Raises Fenced."""
        last = Stage.objects.filter(run=self.run, name=name).order_by("-id").values("id")[:1]

        def write() -> None:
            with transaction.atomic():
                self.lease.require()
                found = {"outcome": outcome, "detail": clip(stored(detail), 2000)}
                Stage.objects.filter(id__in=last).update(**found)

        persist(write)

    # -- inside ----------------------------------------------------------------------------------

    def _enter(self, name: str, deadline_s: int | None) -> None:
        begin = self._event(types.RUN_STAGE, {"stage": name, "attempt": self.run.attempt})
        opened = Stage(run=self.run, name=name, started_at=timezone.now(), deadline_s=deadline_s)
        self._write(begin, opened=opened, stage=name)
        self._open = opened

    def _write(self, *events: NewEvent, opened: Stage | None = None, **facts: Any) -> None:
        """All that was put off, and this, in one transaction."""
        with transaction.atomic():
            self.lease.require()
            self._write_stage()
            if opened is not None:
                opened.save(force_insert=True)
            if columns := self._unsaved | facts:
                Run.objects.filter(id=self.run.id).update(**columns)
            charged = self._charge()
            record(workspace_id=self.lease.workspace_id, events=[*self._unsaid, *events])
        self._unsaved.clear()
        self._uncharged.clear()
        self._unsaid.clear()
        self._told = True
        if self._open is not None and self._open.ended_at:
            self._open = None
        if charged:
            self._look_at_spending()

    def _charge(self) -> bool:
        if not self._uncharged:
            return False
        return bool(record_calls(self._uncharged, account_of(self.batch, self.run)))

    def _look_at_spending(self) -> None:
        halt = self.spending.look(self.run) if self.spending else None
        if halt:
            self.scope.request(Reason.BUDGET, halt.sentence)

    def _settle(self, outcome: StageOutcome, detail: str) -> None:
        if self._open is not None:
            self._open.ended_at = timezone.now()
            self._open.outcome = outcome
            self._open.detail = clip(stored(detail), 2000)

    def _write_stage(self) -> None:
        if self._open is not None and (self._open.ended_at or not self._told):
            self._open.save(update_fields=["ended_at", "outcome", "detail", "commands"])

    def _event(self, type: str, payload: dict[str, Any]) -> NewEvent:
        return NewEvent(
            type=type,
            batch_id=self.batch.id,
            run_id=self.run.id,
            task_id=self.run.task_id,
            payload=payload,
        )
