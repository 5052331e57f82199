"""Start the agent, or adopt the one that runs; follow it to its end; judge what it says."""

import os
import time
from pathlib import Path

from django.conf import settings

from batches import paths, prompts
from batches.context import RunContext, StageFailed
from batches.engines import load
from batches.engines.base import EngineRequest, Launch, LaunchRefusedError, judge
from batches.host_slots import take_slot
from batches.models import Run
from batches.models.run import RunStatus
from batches.output import OutputRecorder, recorded_offsets
from batches.provisioning.surroundings import Surroundings
from batches.reasons import Reason
from batches.results import ended, failed
from batches.stages.capture import Change
from batches.stages.offers import OFFERS, offers_file
from batches.supervisor import client, spool
from batches.supervisor.client import Chunk, ExitRecord, LaunchSpec, StopRequest
from tasks.events import types

TAIL_BYTES = 8192
SLOT_POLL_SECONDS = 0.2


def run_agent(context: RunContext, tree: Path, surroundings: Surroundings) -> ExitRecord:
    """Raises StageFailed when it cannot be started; however it ends, its record is returned."""
    run_dir = paths.agent_dir(context.run.id)
    record = client.read_exit(run_dir)
    if record is not None and context.run.capture_commit:
        return _noted(context, record)
    with context.stage("agent"):
        handle = client.adopt(run_dir) if context.run.agent_started else None
        offsets = recorded_offsets(context.run.id) if handle else {}
        handle = handle or _start(context, tree, run_dir, surroundings)
        record = _follow(context, handle, offsets)
    return _noted(context, record)


def _noted(context: RunContext, record: ExitRecord) -> ExitRecord:
    context.facts |= {"exit_code": record.code, "exit_cause": record.cause}
    return record


def _start(
    context: RunContext, tree: Path, run_dir: Path, surroundings: Surroundings
) -> client.Handle:
    """Waits for one of the machine's slots; the supervisor then holds it, whoever follows."""
    slot = _wait_for_slot(context)
    try:
        context.scope.check()
        launch = _prepare(context, tree, run_dir)
        context.save(agent_started=True)
        env = surroundings.applied_to(launch.env) | {OFFERS: str(offers_file(context))}
        return client.start(run_dir, _spec(context, tree, launch, env), hold_fd=slot)
    finally:
        os.close(slot)


def _wait_for_slot(context: RunContext) -> int:
    slot = take_slot("agent", settings.MAX_AGENTS)
    if slot is None:
        context.say(types.RUN_WAITING, {"for": "agent", "limit": settings.MAX_AGENTS})
    while slot is None:
        context.scope.check()
        time.sleep(SLOT_POLL_SECONDS)
        slot = take_slot("agent", settings.MAX_AGENTS)
    return slot


def judge_agent(context: RunContext, record: ExitRecord, change: Change) -> None:
    """Raises StageFailed unless the agent did what it was for."""
    run_dir = paths.agent_dir(context.run.id)
    outcome = load(_kind(context)).outcome(
        record,
        spool.tail(run_dir, "stdout", TAIL_BYTES).data,
        spool.tail(run_dir, "stderr", TAIL_BYTES).data,
    )
    task = context.task()
    outcome = judge(outcome, changed=change.changed, expects_changes=task.expects_changes)
    if outcome.kind == "completed":
        return
    stop = context.scope.asked()
    if outcome.kind == "stopped":
        reason, sentence = (stop.reason, stop.sentence) if stop else (Reason.STOPPED, "")
        raise StageFailed(ended(RunStatus.CANCELLED, reason, sentence))
    if outcome.kind == "lost":
        raise StageFailed(ended(RunStatus.LOST, Reason.WORKER_LOST, outcome.sentence))
    raise StageFailed(failed(outcome.reason or Reason.ENGINE_ERROR, outcome.sentence))


def end_agent(run: Run) -> None:
    """For a run whose thread broke: nothing of its agent survives."""
    handle = client.adopt(paths.agent_dir(run.id)) if run.agent_started else None
    if handle is not None:
        client.follow(
            handle,
            on_output=lambda _: None,
            should_stop=lambda: StopRequest(reason=Reason.INTERNAL_ERROR.sentence),
            offsets={},
        )


def _kind(context: RunContext) -> str:
    """A named command engine is recorded with its argv; other engines carry their own name."""
    return str(context.batch.engine_options.get("kind", context.batch.engine))


def _prepare(context: RunContext, tree: Path, run_dir: Path) -> Launch:
    run = context.run
    folder = paths.run_dir(run.id)
    prompt_file = folder / "prompt.md"
    prompt_file.write_text(prompts.task_prompt(run, context.task()))
    request = EngineRequest(
        prompt_file=prompt_file,
        tree=tree,
        home=folder / "home",
        run_dir=run_dir,
        task_id=str(run.task_id),
        run_id=str(run.id),
        batch_id=str(run.batch_id),
        attempt=run.attempt,
        options=context.batch.engine_options,
    )
    try:
        return load(_kind(context)).prepare(request)
    except LaunchRefusedError as refused:
        raise StageFailed(failed(refused.reason, refused.sentence)) from refused


def _spec(context: RunContext, tree: Path, launch: Launch, env: dict[str, str]) -> LaunchSpec:
    batch = context.batch
    return LaunchSpec(
        argv=launch.argv,
        cwd=str(tree),
        env=env,
        stdin_path=str(launch.stdin_path) if launch.stdin_path else None,
        deadline_s=batch.timeout_s or None,
        silence_s=batch.stall_timeout_s or None,
        grace_s=settings.STOP_GRACE_SECONDS,
        stop_signal=launch.stop_signal,
        spool_bytes=settings.SPOOL_BYTES,
        orphan_s=settings.ORPHAN_SECONDS,
    )


def _follow(context: RunContext, handle: client.Handle, offsets: dict[str, int]) -> ExitRecord:
    output = OutputRecorder(context)

    def on_output(chunk: Chunk) -> None:
        output.feed(chunk.stream, chunk.offset, chunk.data, chunk.cut)

    def should_stop() -> StopRequest | None:
        output.tick()
        stop = context.scope.asked()
        return StopRequest(reason=stop.sentence) if stop else None

    record = client.follow(handle, on_output=on_output, should_stop=should_stop, offsets=offsets)
    output.flush()
    return record
