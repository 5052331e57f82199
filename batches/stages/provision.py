"""The run's environments: shared ones found or built, or copies of them for this run alone."""

from pathlib import Path
from typing import Any

from django.conf import settings

from batches import paths
from batches.context import RunContext, StageFailed
from batches.integration.removal import remove_folder
from batches.provisioning import environments
from batches.provisioning.building import BuildFailed, DiskTooFull, with_way_out
from batches.provisioning.preparing import Plan, make_plan, prepare
from batches.provisioning.setup_command import SetupCommand, SetupRefused, parse_all
from batches.provisioning.setup_policy import policy
from batches.provisioning.steps import Steps, end_left_over
from batches.provisioning.surroundings import NOTHING, Surroundings
from batches.provisioning.tools.base import NeedRefused
from batches.reasons import Reason
from batches.results import failed
from batches.supervisor.client import StopRequest
from tasks.events import types

TIMEOUT_S = 1800


def provision_tree(context: RunContext, tree: Path) -> Surroundings:
    """Of a run that is past it, as it was written down. Raises StageFailed.

    Without isolation the user's own environment is the one that is there.
    """
    run = context.run
    if not context.place.isolated:
        return NOTHING
    if run.agent_started or run.capture_commit:
        return surroundings_of(context, tree)
    try:
        plan = _plan(context)
    except (NeedRefused, SetupRefused) as error:
        why = with_way_out(error) if isinstance(error, NeedRefused) else str(error)
        with context.stage("provision"):
            raise StageFailed(failed(Reason.SETUP_FAILED, why)) from error
    return _provision(context, plan, tree) if plan.needs else NOTHING


def surroundings_of(context: RunContext, tree: Path) -> Surroundings:
    own = paths.own_environment_dir(context.run.id)
    return environments.surroundings(
        context.run.environments, workspace_id=context.batch.workspace_id, own=own, tree=tree
    )


def setup_of(context: RunContext) -> list[SetupCommand]:
    """As the batch was created with them, read anew. Raises SetupRefused."""
    return parse_all(config_of(context).get("setup.commands", []), policy())


def config_of(context: RunContext) -> dict[str, Any]:
    values: dict[str, Any] = context.batch.config.get("values", {})
    return values


def discard_environments(context: RunContext) -> None:
    """No work is in them."""
    if context.place.isolated:
        remove_folder(paths.own_environment_dir(context.run.id))


def steps_of(context: RunContext, name: str, deadline_s: float) -> Steps:
    """For one stage; ends what a worker that died left of it."""
    work = paths.run_dir(context.run.id) / name
    end_left_over(work)

    def should_stop() -> StopRequest | None:
        stop = context.scope.asked()
        return StopRequest(reason=stop.sentence) if stop else None

    return Steps(
        work=work,
        check=context.scope.check,
        should_stop=should_stop,
        deadline_s=deadline_s,
        on_step=lambda step: context.add_command(step.as_json()),
        pass_env=tuple(settings.PROVISION_PASS_ENV),
        cache=paths.environments_dir(context.batch.workspace_id) / "cache",
    )


def _plan(context: RunContext) -> Plan:
    """One git process per commit that runs begin from; none for the later runs on it."""
    place, run = context.place, context.run
    setup = setup_of(context)
    with place.planning:
        if run.base_commit not in place.plans:
            place.plans[run.base_commit] = make_plan(
                place.store, run.base_commit, config_of(context), setup
            )
        return place.plans[run.base_commit]


def _provision(context: RunContext, plan: Plan, tree: Path) -> Surroundings:
    run = context.run
    deadline_s = config_of(context).get("environment.timeout_s", TIMEOUT_S)
    with context.stage("provision", deadline_s=deadline_s):
        context.scope.check()
        steps = steps_of(context, "provision", deadline_s)
        try:
            return prepare(
                plan,
                batch=context.batch,
                run=run,
                tree=tree,
                own=paths.own_environment_dir(run.id),
                steps=steps,
                note=lambda used: context.save(environments=used),
                on_wait=lambda: context.say(types.RUN_WAITING, {"for": "environment", "limit": 1}),
            )
        except BuildFailed as error:
            raise StageFailed(failed(Reason.SETUP_FAILED, with_way_out(error))) from error
        except DiskTooFull as error:
            raise StageFailed(failed(Reason.DISK_FULL, str(error))) from error
        finally:
            steps.tidy()
