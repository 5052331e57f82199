"""Start the agent, or adopt the one that runs; follow it to its end; judge what it says."""

import os
import time
from pathlib import Path

from django.conf import settings

from batches import paths, prompts, sessions
from batches.agent_output import AgentOutput
from batches.context import RunContext, StageFailed
from batches.engine_setup import kind_of, with_settings
from batches.engines import load
from batches.engines.base import EngineRequest, Launch, LaunchRefusedError
from batches.host_slots import take_slot
from batches.keys import load_keys
from batches.models import Run
from batches.output import recorded_offsets
from batches.persist import persist
from batches.provisioning.surroundings import Surroundings
from batches.reasons import Reason
from batches.results import failed
from batches.stages.offers import OFFERS, offers_file
from batches.supervisor import client
from batches.supervisor.client import ExitRecord, LaunchSpec, StopRequest
from tasks.events import types

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
        client.forget_environment(run_dir)
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


def _prepare(context: RunContext, tree: Path, run_dir: Path) -> Launch:
    run, batch = context.run, context.batch
    persist(load_keys)
    folder = paths.run_dir(run.id)
    session = sessions.session_of(run, batch)
    prompt_file = folder / "prompt.md"
    prompt_file.write_text(prompts.prompt_of(run, context.task(), tree))
    request = EngineRequest(
        prompt_file=prompt_file,
        question_file=paths.question_file(run.id),
        tree=tree,
        home=session.home,
        session_id=session.session_id,
        run_dir=run_dir,
        task_id=str(run.task_id),
        run_id=str(run.id),
        batch_id=str(run.batch_id),
        attempt=run.attempt,
        model=batch.model,
        options=with_settings(kind_of(batch), batch.engine_options),
    )
    context.save_later(session_home=session.home_run)
    try:
        return load(kind_of(batch)).prepare(request)
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
    output = AgentOutput(
        context,
        engine=load(kind_of(context.batch)),
        carried=sessions.session_of(context.run, context.batch).carried,
        recorded=offsets,
    )

    def should_stop() -> StopRequest | None:
        output.tick()
        stop = context.scope.asked()
        return StopRequest(reason=stop.sentence) if stop else None

    record = client.follow(
        handle, on_output=output.feed, should_stop=should_stop, offsets=output.offsets()
    )
    output.finish()
    return record
