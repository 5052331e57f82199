"""Conducts one batch: starts what is ready, settles what ended, skips, retries, closes.

One thread makes every scheduling decision and writes every run's start and end; attempts run in
slots. The cost of one completion is the task's out-degree, whatever the batch's size.
"""

import logging
import threading
from collections.abc import Callable
from uuid import UUID

from django.db import DatabaseError

from batches import lifecycle
from batches.closing import close_batch
from batches.context import RunContext
from batches.errors import Fenced
from batches.keys import load_keys
from batches.launching import LaunchGate
from batches.lease import Lease, release
from batches.models import Batch, Run
from batches.models.batch import OnFailure, StopMode
from batches.models.run import RunStatus
from batches.persist import persist
from batches.place import Place
from batches.plan import Plan, load_plan
from batches.reasons import Reason
from batches.results import RunResult, failed
from batches.retry import delay_before_retry
from batches.scope import LetGo, StopScope
from batches.shared import Flag
from batches.slots import Slots
from batches.spending import Halt, Spending
from batches.stages.agent import end_agent
from batches.watch import Watch

log = logging.getLogger(__name__)
Attempt = Callable[[RunContext], RunResult]
IDLE_SECONDS = 1.0


class Conductor:
    """`leave` set: start nothing more, let every agent live on, release the lease."""

    def __init__(self, lease: Lease, *, attempt: Attempt, leave: Flag) -> None:
        self.lease = lease
        self.leave = leave
        self.fenced = threading.Event()
        self.closing = StopScope(leave, self.fenced)
        self.batch = Batch.objects.select_related("workspace").get(id=lease.batch_id)
        self.place = Place(self.batch, lease)
        self.plan: Plan = load_plan(self.batch)
        self.running: dict[UUID, tuple[Run, StopScope]] = {}
        self.gate = LaunchGate(self.batch, lease)
        self.spending = Spending(self.batch, wake=lambda: self.slots.wake())
        self.launching = True
        self.failure = False
        self.watch: Watch
        self.slots: Slots[RunContext, RunResult] = Slots(self.batch.max_parallel, attempt)

    def run(self) -> None:
        """Returns when the batch is closed or let go. Raises Fenced, and what broke it."""
        with self.slots, Watch(self.lease, wake=self._wake) as self.watch:
            try:
                persist(load_keys)
                self._skip(self.plan.skipped_at_load)
                self._readopt()
                persist(self.spending.look)
                self._loop()
                self._close()
            except LetGo:
                self._abandon()
                self._unless_fenced()
                persist(lambda: release(self.lease))
            except (Fenced, DatabaseError):
                # Without a lease, or the means to keep one, the agents are the next owner's.
                self._abandon()
                raise
            except BaseException:
                self._stop_all(Reason.INTERNAL_ERROR)
                raise

    def _wake(self) -> None:
        """In the watch's thread: closing steps run in ours, so their scope is told from here."""
        if self.watch.fenced:
            self.fenced.set()
        elif self.watch.orders.stop_mode:
            self.closing.request(Reason.CANCELLED, self.watch.orders.stop_reason)
        self.slots.wake()

    # -- the loop --------------------------------------------------------------------------------

    def _loop(self) -> None:
        while True:
            self._obey()
            self._launch()
            if not self.running and not self._more_to_come():
                return
            self._settle(self.slots.wait(self._patience()))

    def _obey(self) -> None:
        self._unless_fenced()
        orders = self.watch.orders
        if self.leave.is_set() and not self.running:
            raise LetGo
        if self.leave.is_set() or orders.stop_mode:
            self.launching = False
        if orders.stop_mode == StopMode.CANCEL:
            for _, scope in self.running.values():
                scope.request(Reason.CANCELLED, orders.stop_reason)
        if self.spending.stopped:
            self._halt(self.spending.stopped)
        for run_id in orders.runs_to_stop & self.running.keys():
            self.running[run_id][1].request(Reason.STOPPED)

    def _halt(self, halt: Halt) -> None:
        """A hard cap is reached: as with a cancel what runs is ended, and its work captured."""
        self.launching = False
        self.gate.close(halt)
        for _, scope in self.running.values():
            scope.request(Reason.BUDGET, halt.sentence)

    def _launch(self) -> None:
        while self._may_launch() and (run := self.plan.next_run()):
            halt = self.gate.refusal(run)
            if halt is not None:
                self._held_back(run, halt)
            else:
                self._begin(run)

    def _begin(self, run: Run) -> None:
        if persist(lambda: lifecycle.start_run(lease=self.lease, run=run)):
            self._start(run)
        else:
            self._not_started(run)

    def _may_launch(self) -> bool:
        return bool(self._more_to_come() and self.slots.free and not self.gate.paused())

    def _held_back(self, run: Run, halt: Halt) -> None:
        if halt.of_task:
            self._drop([run], RunStatus.SKIPPED, Reason.BUDGET, halt.sentence)
            self._skip(self.plan.fail(run))
            return
        self.plan.put_back(run)
        self.launching = False

    def _start(self, run: Run) -> None:
        scope = StopScope(self.leave, self.fenced)
        self.running[run.id] = (run, scope)
        self.slots.start(self._context(run, scope))

    def _context(self, run: Run, scope: StopScope) -> RunContext:
        return RunContext(
            lease=self.lease,
            batch=self.batch,
            run=run,
            scope=scope,
            place=self.place,
            spending=self.spending,
        )

    def _not_started(self, run: Run) -> None:
        """Either the batch is stopping (the watch will say so), or someone moved the task."""
        self.batch.refresh_from_db()
        if self.batch.stop_mode:
            self.launching = False
            self.plan.put_back(run)
            return
        if self.plan.finished_elsewhere(run):
            self._drop([run], RunStatus.SKIPPED, Reason.TASK_MOVED, "already done by someone else")
            self.plan.complete(run)
            return
        self._drop([run], RunStatus.SKIPPED, Reason.TASK_MOVED)
        self._skip(self.plan.fail(run))

    def _more_to_come(self) -> bool:
        return self.launching and self.plan.has_more

    def _patience(self) -> float:
        if not self.launching:
            return IDLE_SECONDS
        return min(IDLE_SECONDS, self.gate.seconds_left() or self.plan.seconds_to_next())

    # -- a run has ended -------------------------------------------------------------------------

    def _settle(self, done: tuple[RunContext, RunResult | BaseException] | None) -> None:
        if done is None:
            return
        context, result = done
        run, _ = self.running.pop(context.run.id)
        if isinstance(result, LetGo | Fenced):
            return
        if isinstance(result, DatabaseError):
            # Its agent lives on. Grading the run now would start a second one beside it.
            raise result
        if isinstance(result, BaseException):
            result = context.conclude(self._broken(run, result))
        if result.reason is Reason.RATE_LIMITED:
            self.gate.met_limit(result)
        delay = persist(lambda: delay_before_retry(self.batch, run, result))
        if delay is not None and self.launching:
            following = persist(
                lambda: lifecycle.retry_run(lease=self.lease, run=run, result=result, delay_s=delay)
            )
            self.plan.retry(following)
            return
        persist(lambda: lifecycle.finish_run(lease=self.lease, run=run, result=result))
        self._propagate(run, result)

    def _propagate(self, run: Run, result: RunResult) -> None:
        if result.status is RunStatus.COMPLETED:
            self.plan.complete(run)
        elif self.launching:
            self._skip(self.plan.fail(run))
        else:
            # Of a batch that stops, what never started is told so at its end, not skipped.
            self.plan.keep_dependents(run)
        if result.status in (RunStatus.FAILED, RunStatus.LOST):
            self.failure = True
            if self.batch.on_failure == OnFailure.STOP:
                self.launching = False

    def _broken(self, run: Run, error: BaseException) -> RunResult:
        log.error("run %s of batch %s broke", run.id, self.batch.id, exc_info=error)
        end_agent(run)
        return failed(Reason.INTERNAL_ERROR, f"{type(error).__name__}: {error}"[:500])

    def _skip(self, runs: list[Run]) -> None:
        self._drop(runs, RunStatus.SKIPPED, Reason.DEPENDENCY_FAILED)

    def _drop(self, runs: list[Run], status: RunStatus, reason: Reason, message: str = "") -> None:
        persist(
            lambda: lifecycle.drop_runs(
                lease=self.lease, runs=runs, status=status, reason=reason, message=message
            )
        )

    # -- the beginning and the end ---------------------------------------------------------------

    def _readopt(self) -> None:
        """Runs that were under way when their worker went: each picks up where its rows stand."""
        for run in self.plan.under_way:
            self._start(run)

    def _close(self) -> None:
        if self.leave.is_set():
            raise LetGo
        left = self.plan.never_started()
        if persist(self._stop_committed):
            self._drop(left, RunStatus.CANCELLED, Reason.CANCELLED, self.batch.stop_reason)
        elif self.gate.over:
            self._drop(left, RunStatus.SKIPPED, Reason.BUDGET, self.gate.over.sentence)
        elif self.failure:
            self._drop(left, RunStatus.SKIPPED, Reason.STOPPED_AFTER_FAILURE)
        close_batch(lease=self.lease, place=self.place, scope=self.closing)

    def _stop_committed(self) -> bool:
        self.batch.refresh_from_db()
        return bool(self.batch.stop_mode)

    def _unless_fenced(self) -> None:
        if self.watch.fenced:
            raise Fenced(f"batch {self.lease.batch_id} was taken over")

    def _abandon(self) -> None:
        """The attempts' threads end as soon as they look; their agents live on."""
        self.fenced.set()
        self._await_threads()

    def _stop_all(self, reason: Reason) -> None:
        for _, scope in self.running.values():
            scope.request(reason)
        self._await_threads()

    def _await_threads(self) -> None:
        while self.running:
            done = self.slots.wait(IDLE_SECONDS)
            if done:
                self.running.pop(done[0].run.id, None)


def conduct(lease: Lease, *, attempt: Attempt, leave: Flag | None = None) -> None:
    Conductor(lease, attempt=attempt, leave=leave or threading.Event()).run()
